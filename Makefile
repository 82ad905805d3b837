# Every target sets itself up in .venv; PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
SHOWN  := $(VENV)/ready-demo
DATA   ?= $(firstword $(wildcard $(REPUBLISH_ADULT) ../shared/data/adult))
WAGES  ?= $(firstword $(wildcard $(REPUBLISH_WAGES) ../shared/data/wages))

# What the tests of the extras need, and which folders of tests `make test` leaves to their own targets (LEAVE='spark postgres').
SPARK    := $(VENV)/ready-spark
POSTGRES := $(VENV)/ready-postgres
JAVA     := $(shell command -v java)
INITDB   := $(firstword $(shell command -v initdb) $(wildcard /usr/lib/postgresql/*/bin/initdb))
LEAVE    ?=
EXTRAS   := $(if $(filter spark,$(LEAVE)),,$(if $(JAVA),$(SPARK))) $(if $(filter postgres,$(LEAVE)),,$(if $(INITDB),$(POSTGRES)))

# Bytecode is kept even where the environment forbids it: every process that a test starts would compile all modules anew.
# Two processes share the cores; threads of linear algebra would only wait for each other.
PYTEST   := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 REPUBLISH_ADULT='$(DATA)' REPUBLISH_WAGES='$(WAGES)' $(BIN)/python -m pytest -n 2

.PHONY: demo test test-long test-nojit test-spark test-postgres test-stores coverage bench bench-full bench-spark \
  reproduce results chromium r java postgres docs lint format clean
.NOTPARALLEL:

# The demo needs the product and its report alone, and few of their modules: those are compiled to bytecode as they are
# used. Whatever is tested or measured needs the rest as well.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("republish needs Python 3.11 or newer; set PYTHON=") if sys.version_info < (3, 11) else None'
	@echo "making the environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(SHOWN): pyproject.toml | $(BIN)/python
	@[ $(READY) -nt pyproject.toml ] || echo "installing republish and what its report needs, 34 packages of 660 MB, into $(VENV)"
	@[ $(READY) -nt pyproject.toml ] || $(PIP) --no-compile --editable '.[report]'
	@touch $@

$(READY): pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@

$(SPARK): $(READY)
	$(PIP) --editable '.[dev,spark]'
	touch $@

$(POSTGRES): $(READY)
	$(PIP) --editable '.[dev,postgres]'
	touch $@

demo: $(SHOWN)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/republish demo

# $(call apt,CHECK,PACKAGE,TESTS,OPTIONS): installs a Debian package where that is allowed, else says what will be missing.
define apt
@$(1) > /dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
  && export DEBIAN_FRONTEND=noninteractive && { apt-get install -y -qq $(4) $(2) || { apt-get update -qq && apt-get install -y -qq $(4) $(2); }; } > /dev/null 2>&1; } \
  || echo "the package $(2) is missing and could not be installed: $(3) tests will be skipped"
endef

chromium:
	$(call apt,command -v chromium,chromium,browser)

# R alone: with what the package recommends come compilers.
r:
	$(call apt,command -v Rscript,r-base-core,R,--no-install-recommends)

java:
	$(call apt,command -v java,openjdk-17-jre-headless,Spark)

# The tests start servers of their own: the package is kept from making and starting its default one.
NO_MAIN := /etc/postgresql-common/createcluster.d/republish.conf
postgres:
	@[ -n '$(INITDB)' ] || [ "$$(id -u)" != 0 ] || { mkdir -p $(dir $(NO_MAIN)) && echo 'create_main_cluster = false' > $(NO_MAIN); }
	$(call apt,[ -n '$(INITDB)' ],postgresql,PostgreSQL)
	@[ "$$(id -u)" != 0 ] || rm -f $(NO_MAIN)

# The extras are tested where Java and the programs of PostgreSQL are there; what is left out is said at the end.
test: $(READY) chromium r $(EXTRAS)
	$(PYTEST) -m 'not long' $(addprefix --ignore=tests/,$(LEAVE))
	@[ -n '$(JAVA)$(filter spark,$(LEAVE))' ] || echo "left out: tests/spark, as there is no java; make test-spark installs it"
	@[ -n '$(INITDB)$(filter postgres,$(LEAVE))' ] || echo "left out: tests/postgres, as there is no PostgreSQL; make test-postgres installs it"

test-spark: java $(SPARK)
	REPUBLISH_NEEDS_SPARK=1 $(PYTEST) -m 'not long' tests/spark

test-postgres: postgres $(POSTGRES)
	REPUBLISH_NEEDS_POSTGRES=1 $(PYTEST) -m 'not long' tests/postgres

test-stores: $(READY)
	REPUBLISH_NEEDS_STORES=1 $(PYTEST) -m 'not long' tests/stores

test-long: $(READY) $(EXTRAS)
	$(PYTEST) --hypothesis-profile=search

test-nojit: $(READY)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m 'not long and not jit' tests/requirements tests/orders tests/spatial tests/inference tests/knowledge tests/publishers tests/attacks tests/release/test_cells.py tests/memory/test_memory.py tests/memory/test_event_lists.py

# Lines of src that tests run; the floor and what is not counted are in pyproject.toml.
coverage: $(READY) chromium r
	$(PYTEST) -m 'not long' --ignore=tests/spark --ignore=tests/postgres --cov --cov-report=term

# Ratios of everything; then docs/benchmarks.md, beside the peers that install.
bench: $(READY)
	$(BIN)/python -m bench
	$(BIN)/python -m bench.page

bench-full: $(READY)
	$(BIN)/python -m bench --full

# On the cluster that the tests start.
bench-spark: java $(SPARK)
	PYTHONPATH=tests $(BIN)/python -m bench.spark

# The papers' experiments with smaller views, plots and verdicts in reproduced/; every finished cell is kept.
reproduce: $(READY)
	REPUBLISH_ADULT='$(DATA)' $(BIN)/republish reproduce all --quick --out reproduced

# The same in full; its pages and plots become docs/results/.
results: $(READY)
	REPUBLISH_ADULT='$(DATA)' $(BIN)/republish reproduce all --out reproduced/full
	rm -rf docs/results && mkdir -p docs/results
	cd reproduced/full && find . -name '*.md' -o -name '*.png' | tar -c -T - | tar -x -C ../../docs/results

# The site, in an environment of its own. Links, anchors, and whatever a page would fetch from elsewhere stop it.
DOCS := .venv-docs
$(DOCS)/ready: pyproject.toml
	@[ -x $(DOCS)/bin/python ] || $(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > $(DOCS)/requirements.txt
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -r $(DOCS)/requirements.txt
	@touch $@

docs: $(DOCS)/ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet --strict
	$(DOCS)/bin/python docs/site/check.py site

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(DOCS) site demo reproduced dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
