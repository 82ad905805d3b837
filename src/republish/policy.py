"""What a series promises and how: `series.toml`, frozen with the first release."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from republish.errors import PolicyError
from republish.expect.limits import EARLIER, Expect, expect_from_mapping
from republish.gate.limits import Gate, gate_from_mapping
from republish.hierarchies import Hierarchy
from republish.inference import Reasoning
from republish.knowledge import Extracted, Knowledge, read_knowledge
from republish.knowledge.possible_people import PossibleForPeople
from republish.knowledge.possible_values import PossibleValues
from republish.publishers import Publisher, make_publisher, said_parameters, stored_parameters
from republish.publishers.renamed import named_formerly, named_now
from republish.release.forms import TwoTables, form_from
from republish.requirements import BTPrivacy, Requirement, parse_requirements, requirements_text
from republish.requirements.m_uniqueness import Uniqueness
from republish.schema import Schema, schema_from_mapping, schema_to_mapping

FILE = "series.toml"
_HIERARCHIES = "hierarchies"
_MAY_CHANGE = ("one_table", "ledger", "store", "expect", "report", "situation")  # none says what is promised
REPORT_FIELDS = ("title", "purpose", "recipients", "legal_basis", "decided_by", "signed_by", "contact")
"""What [report] may say for the disclosure report: who publishes to whom, for what, and who answers for it."""
SITUATION = ("again", "change", "back", "order", "one_table")
"""What [situation] may answer with true or false: the questions by which the publisher was chosen."""
_SECTIONS = {
    "schema",
    "form",
    "publisher",
    "require",
    "knowledge",
    "gate",
    "expect",
    "seed",
    "one_table",
    "ledger",
    "store",
    "report",
    "situation",
}
_KNOWLEDGE = "knowledge"


@dataclass(frozen=True)
class Policy:
    """The schema, the publisher with all requirements on a group, the seed, the risk gate and the form of a series.

    Without a `form` a release is one table. `report` is what people say of the series in its disclosure report; it
    promises nothing and may be edited at any time. So may `situation`, the answers by which the publisher was chosen:
    they say which attacks a report asks for.
    """

    schema: Schema
    publisher: Publisher
    seed: int
    one_table: bool = False
    ledger: str | None = None
    gate: Gate | None = None
    store: str | None = None
    form: TwoTables | None = None
    expect: Expect | None = None
    report: Mapping[str, str] = field(default_factory=dict)
    situation: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse promises about sensitive values where no column holds any."""
        if self.form is not None:
            self.form.require_fit(self.schema)
            object.__setattr__(self, "publisher", self.publisher.in_two_tables())
        needing = [r.text for r in self.requirements if r.needs_sensitive]
        needing += [self.bt.text] if self.bt is not None else []
        if needing and self.schema.sensitive is None:
            raise PolicyError(f"{', '.join(needing)} needs a sensitive column; label one in the schema")
        if self.schema.identifier is None:
            raise PolicyError(
                "a series needs an identifier column to recognise people again; label one in the schema"
            )
        if self.ledger:
            from republish.sources.postgres.address import require_ledger

            require_ledger(self.ledger, PolicyError)  # never a password in series.toml
        if self.knowledge is not None:
            self.knowledge.classes.require_fit(self.schema)
        if self.gate is not None:
            suiting = self.gate.suiting(self.knowledge, self.schema.sensitive is not None, self.publisher)
            object.__setattr__(self, "gate", suiting)
        self._refuse_too_few_values()

    def _refuse_too_few_values(self) -> None:
        """A group of m different values needs a sensitive column that may hold as many."""
        column = self.schema.sensitive
        m = max((r.m for r in self.requirements if isinstance(r, Uniqueness)), default=0)
        if column is None or column.closed is None or not m:
            return
        needed, why = m, f"groups of m={m} different values"
        remedy = "choose a smaller m, or leave the list out of the schema, so that values may be added"
        if "disjoint-updates" in self.publisher.series_promises:
            needed, why = 2 * m, f"a new signature of m={m} values that has none of the old one"
            remedy = "choose a smaller m, or let signatures overlap (signatures=any)"
        if len(column.closed) < needed:
            raise PolicyError(
                f"the sensitive column needs {needed} values for {why}; the schema lists {len(column.closed)} for "
                f"{column.name}; {remedy}"
            )

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group of every release satisfies."""
        return self.publisher.requirements

    @property
    def expectations(self) -> Expect:
        """What the next view is expected to be; without `[expect]` what earlier versions expected."""
        return EARLIER if self.expect is None else self.expect

    @property
    def of_people(self) -> tuple[Requirement, ...] | None:
        """What every group of people satisfies, where people and values are published in two tables."""
        return None if self.form is None else (self.form.requirement,)

    @property
    def knowledge(self) -> Knowledge | Extracted | None:
        """What the publisher takes an adversary to know, where it thinks of one."""
        return self.publisher.knowledge

    @property
    def reasoning(self) -> Reasoning | None:
        """How the publisher takes an adversary to think, where it thinks of one."""
        return self.publisher.reasoning

    @property
    def bt(self) -> BTPrivacy | None:
        """The (B,t)-privacy of every release, where the publisher has it; checked while the view is at hand."""
        return self.publisher.bt

    @property
    def possible(self) -> PossibleValues | PossibleForPeople | None:
        """Which values a person may have at all, where the publisher looks at it."""
        return self.publisher.possible

    @property
    def promises(self) -> dict[str, Any]:
        """The promises as the ledger records them."""
        promises: dict[str, Any] = {
            "one_table": requirements_text(self.requirements),
            "series": [
                *self.publisher.series_promises,
                *(self.form.series_promises if self.form is not None else ()),
            ],
        }
        if self.form is not None:
            promises["people"] = self.form.requirement.text
        possible = self.possible
        passing = [possible.promise] if possible is not None and not possible.kept else []
        checked = [*([self.bt.text] if self.bt else []), *passing]
        if checked:
            promises["when_published"] = checked
        return promises if self.gate is None else promises | {"gate": self.gate.public()}

    @property
    def over_series(self) -> list[str]:
        """What is promised over all releases, and where that is nothing of sensitive values, that."""
        if self.publisher.series_promises:
            return list(self.promises["series"])
        nothing = "nothing: each release is protected alone"
        if self.form is None:
            return [nothing]
        return [*self.form.series_promises, f"of sensitive values {nothing}"]

    def document(self) -> dict[str, Any]:
        """What `series.toml` says."""
        tables = {column: f"{_HIERARCHIES}/{file}" for column, file in _file_names(self.schema).items()}
        document: dict[str, Any] = {"seed": self.seed, "one_table": self.one_table}
        if self.ledger:
            document["ledger"] = self.ledger
        if self.store:
            document["store"] = self.store
        if self.report:
            document["report"] = dict(self.report)
        if self.situation:
            document["situation"] = dict(self.situation)
        if self.form is not None:
            document["form"] = self.form.document()
        document["publisher"] = {"name": self.publisher.name, **stored_parameters(self.publisher)}
        extra = self.publisher.require
        if extra:
            document["require"] = dict(part.split("=", 1) for part in requirements_text(extra).split(","))
        if self.knowledge is not None:
            document["knowledge"] = {"path": _KNOWLEDGE}
        if self.gate is not None:
            document["gate"] = self.gate.document()
        if self.expect is not None:
            document["expect"] = self.expect.document()
        document["schema"] = schema_to_mapping(self.schema, tables)
        return document

    def digest(self) -> str:
        """A digest of all that may not change after the first release; amendments of hierarchies aside."""
        return self._digest_of(self.document())

    def digests(self) -> set[str]:
        """Its digest, and those of all policies of earlier versions that mean the same."""
        document, name = self.document(), self.publisher.name
        formerly = named_formerly(name, stored_parameters(self.publisher))
        former = [document | {"publisher": {"name": old, **said}} for old, said in formerly]
        return {self._digest_of(one) for one in (document, *former)}

    def _digest_of(self, said: Mapping[str, Any]) -> str:
        document = {key: value for key, value in said.items() if key not in _MAY_CHANGE}
        document["schema"] = deepcopy(document["schema"])
        document["schema"].pop("files", None)  # an export may change its form, and no promise depends on it
        for settings in document["schema"]["columns"].values():
            for free in ("direct", "label", "description"):  # may come later, and no promise depends on them
                settings.pop(free, None)
        if self.knowledge is not None:
            document["knowledge"] = self.knowledge.digest()
        text = json.dumps(document, sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()

    def write(self, folder: Path) -> None:
        """Write `series.toml`, and the hierarchies and the knowledge it names."""
        tables = table_hierarchies(self.schema)
        if tables:
            (folder / _HIERARCHIES).mkdir(exist_ok=True)
        for column, file in _file_names(self.schema).items():
            tables[column].write(folder / _HIERARCHIES / file)
        if self.knowledge is not None and self.schema.sensitive is not None:
            self.knowledge.write(folder / _KNOWLEDGE, self.schema.sensitive.name)
        (folder / FILE).touch(mode=0o600)  # the address of a database is nobody else's business
        (folder / FILE).write_text(tomli_w.dumps(self.document()), encoding="utf-8")


def _file_names(schema: Schema) -> dict[str, str]:
    """A file name for every table hierarchy: whatever a column is called, it stays inside its folder."""
    return {
        column: f"{number}-{re.sub(r'[^A-Za-z0-9_-]+', '_', column)[:40]}.csv"
        for number, column in enumerate(table_hierarchies(schema), start=1)
    }


def table_hierarchies(schema: Schema) -> dict[str, Hierarchy]:
    """The hierarchies of a schema that are tables, by column."""
    columns = (*schema.quasi_identifiers, *((schema.sensitive,) if schema.sensitive else ()))
    return {column.name: column.hierarchy for column in columns if isinstance(column.hierarchy, Hierarchy)}


def hierarchies_digest(schema: Schema) -> dict[str, str]:
    """A digest of every table hierarchy."""
    return {
        name: hashlib.blake2b(json.dumps(hierarchy.paths).encode(), digest_size=16).hexdigest()
        for name, hierarchy in table_hierarchies(schema).items()
    }


def read_policy(folder: Path) -> Policy:
    """The policy of a series folder."""
    try:
        document = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PolicyError(
            f"{folder} is not a series: it has no {FILE}; `republish init {folder} ...` makes one"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise PolicyError(f"{folder / FILE} is not valid TOML; correct it") from None
    return policy_from_mapping(document, folder)


def policy_from_mapping(document: Mapping[str, Any], folder: Path) -> Policy:
    """The policy that a `series.toml` describes."""
    unknown = sorted(set(document) - _SECTIONS)
    if unknown:
        raise PolicyError(
            f"{FILE} has no setting {', '.join(unknown)}; it may have {', '.join(sorted(_SECTIONS))}"
        )
    publisher = dict(document.get("publisher", {}))
    name = publisher.pop("name", None)
    if not isinstance(name, str):
        raise PolicyError(f'{FILE} needs a publisher: [publisher] with name = "mondrian"')
    seed, one_table = document.get("seed", 0), document.get("one_table", False)
    if not isinstance(document.get("store", ""), str):
        raise PolicyError(f'{FILE}: store must be a folder or an address, such as "s3://bucket/folder"')
    if not isinstance(seed, int) or isinstance(seed, bool) or not isinstance(one_table, bool):
        raise PolicyError(f"{FILE}: seed must be a whole number, one_table true or false")
    require = parse_requirements(document.get("require", {}))
    schema = schema_from_mapping(document.get("schema", {}), folder)
    name, publisher = named_now(name, publisher)
    publisher = said_parameters(name, publisher)
    return Policy(
        schema,
        make_publisher(name, publisher, require, _knowledge(document.get("knowledge"), folder, schema)),
        seed,
        one_table,
        document.get("ledger"),
        None if document.get("gate") is None else gate_from_mapping(document["gate"]),
        document.get("store"),
        form_from(document.get("form")),
        None if document.get("expect") is None else expect_from_mapping(document["expect"]),
        report_fields(document.get("report", {}), f"{FILE}: [report]"),
        situation_answers(document.get("situation", {}), f"{FILE}: [situation]"),
    )


def report_fields(given: Any, where: str) -> dict[str, str]:
    """What is said of a series for its report; `where` it is said, for whoever says something else."""
    fields: Mapping[Any, Any] = given if isinstance(given, Mapping) else {"": None}
    wrong = [
        str(name) for name, text in fields.items() if name not in REPORT_FIELDS or not isinstance(text, str)
    ]
    if wrong:
        raise PolicyError(
            f"{where} may have {', '.join(REPORT_FIELDS)}, each a text; correct {', '.join(wrong) or 'it'}"
        )
    return {name: text.strip() for name, text in fields.items() if text.strip()}


def situation_answers(given: Any, where: str) -> dict[str, bool]:
    """The answers to the questions of docs/choose.md that were given; `where`, for whoever says something else."""
    answers: Mapping[Any, Any] = given if isinstance(given, Mapping) else {"": None}
    wrong = [str(name) for name, yes in answers.items() if name not in SITUATION or not isinstance(yes, bool)]
    if wrong:
        raise PolicyError(
            f"{where} may have {', '.join(SITUATION)}, each true or false; correct {', '.join(wrong) or 'it'}"
        )
    return dict(answers)


def _knowledge(section: Any, folder: Path, schema: Schema) -> Knowledge | Extracted | None:
    if section is None:
        return None
    if not isinstance(section, Mapping) or set(section) != {"path"} or not isinstance(section["path"], str):
        raise PolicyError(f'{FILE}: [knowledge] has one setting: path = "{_KNOWLEDGE}"')
    return read_knowledge(folder / section["path"], schema)
