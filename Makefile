# Every target sets itself up in .venv; PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
DATA   ?= $(firstword $(wildcard $(REPUBLISH_ADULT) ../shared/data/adult))

.PHONY: demo test test-long test-nojit bench bench-full reproduce chromium lint format clean

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("republish needs Python 3.11 or newer; set PYTHON=") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/republish demo

# Browser tests drive Debian's chromium, installed here where that is allowed; without it they are skipped and say so.
chromium:
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	  && export DEBIAN_FRONTEND=noninteractive && { apt-get install -y -qq chromium || { apt-get update -qq && apt-get install -y -qq chromium; }; } > /dev/null 2>&1; } \
	  || echo "the package chromium is missing and could not be installed: browser tests will be skipped"

test: $(READY) chromium
	REPUBLISH_ADULT='$(DATA)' $(BIN)/python -m pytest -n 2 -m 'not long'

test-long: $(READY)
	REPUBLISH_ADULT='$(DATA)' $(BIN)/python -m pytest -n 2

test-nojit: $(READY)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -m 'not long and not jit' tests/requirements tests/orders tests/spatial tests/inference tests/knowledge tests/publishers tests/attacks tests/test_cells.py tests/test_memory.py tests/test_events.py

bench: $(READY)
	$(BIN)/python -m bench

bench-full: $(READY)
	$(BIN)/python -m bench --full

# The papers' experiments with smaller views, plots and verdicts in reproduced/; every finished cell is kept.
reproduce: $(READY)
	REPUBLISH_ADULT='$(DATA)' $(BIN)/republish reproduce all --quick --out reproduced

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo reproduced dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
