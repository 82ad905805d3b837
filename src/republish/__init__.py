"""Publish a changing table of personal data again and again without giving anyone away."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Loaded on first use, so that `republish --help` does not wait for numba and polars.
_HOMES = {
    "republish.attacks": ("Adversary", "AttackResult", "attack"),
    "republish.errors": (
        "BrokenPromise",
        "CannotPublish",
        "LedgerError",
        "LimitBroken",
        "PolicyError",
        "RepublishError",
        "SchemaError",
        "ViewError",
    ),
    "republish.gate.limits": ("Gate",),
    "republish.hierarchies": (
        "Calendar",
        "Hierarchy",
        "Intervals",
        "Neighbours",
        "Redaction",
        "read_hierarchy",
    ),
    "republish.knowledge": (
        "Bands",
        "Classes",
        "Extracted",
        "Knowledge",
        "Listed",
        "learn",
        "read_knowledge",
    ),
    "republish.metrics": ("Measures", "measure"),
    "republish.microdata": ("Microdata", "read_view"),
    "republish.publishing.one_table": ("anonymize",),
    "republish.publishers": (
        "BangA",
        "BayFrame",
        "Cohorts",
        "CorSplit",
        "JSReduce",
        "MInvariance",
        "Mondrian",
        "RPlusTree",
        "TauSafety",
    ),
    "republish.publishers.breach": ("breach_probability",),
    "republish.release.forms": ("TwoTables",),
    "republish.release.received": ("ReceivedRelease", "read_received"),
    "republish.release.release": ("Release",),
    "republish.release.two_tables": ("TwoTableRelease",),
    "republish.requirements": (
        "AlphaKAnonymity",
        "BTPrivacy",
        "BetaLikeness",
        "DeltaDisclosure",
        "EntropyLDiversity",
        "KAnonymity",
        "LDiversity",
        "ProbabilisticLDiversity",
        "RecursiveDiversity",
        "TCloseness",
        "parse_requirements",
    ),
    "republish.schema.schema": ("Category", "Date", "Number", "Ordered", "Schema", "read_schema"),
    "republish.publishing.result": ("Published",),
    "republish.series": ("Series",),
    "republish.verify.check": ("Verification",),
    "republish.verify.table": ("verify_table",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]  # noqa: PLE0604 - every name is a text

if TYPE_CHECKING:
    from republish.attacks import Adversary as Adversary
    from republish.attacks import AttackResult as AttackResult
    from republish.attacks import attack as attack
    from republish.errors import BrokenPromise as BrokenPromise
    from republish.errors import CannotPublish as CannotPublish
    from republish.errors import LedgerError as LedgerError
    from republish.errors import LimitBroken as LimitBroken
    from republish.errors import PolicyError as PolicyError
    from republish.errors import RepublishError as RepublishError
    from republish.errors import SchemaError as SchemaError
    from republish.errors import ViewError as ViewError
    from republish.gate.limits import Gate as Gate
    from republish.hierarchies import Calendar as Calendar
    from republish.hierarchies import Hierarchy as Hierarchy
    from republish.hierarchies import Intervals as Intervals
    from republish.hierarchies import Neighbours as Neighbours
    from republish.hierarchies import Redaction as Redaction
    from republish.hierarchies import read_hierarchy as read_hierarchy
    from republish.knowledge import Bands as Bands
    from republish.knowledge import Classes as Classes
    from republish.knowledge import Extracted as Extracted
    from republish.knowledge import Knowledge as Knowledge
    from republish.knowledge import Listed as Listed
    from republish.knowledge import learn as learn
    from republish.knowledge import read_knowledge as read_knowledge
    from republish.metrics import Measures as Measures
    from republish.metrics import measure as measure
    from republish.microdata import Microdata as Microdata
    from republish.microdata import read_view as read_view
    from republish.publishers import BangA as BangA
    from republish.publishers import BayFrame as BayFrame
    from republish.publishers import Cohorts as Cohorts
    from republish.publishers import CorSplit as CorSplit
    from republish.publishers import JSReduce as JSReduce
    from republish.publishers import MInvariance as MInvariance
    from republish.publishers import Mondrian as Mondrian
    from republish.publishers import RPlusTree as RPlusTree
    from republish.publishers import TauSafety as TauSafety
    from republish.publishers.breach import breach_probability as breach_probability
    from republish.publishing.one_table import anonymize as anonymize
    from republish.publishing.result import Published as Published
    from republish.release.forms import TwoTables as TwoTables
    from republish.release.received import ReceivedRelease as ReceivedRelease
    from republish.release.received import read_received as read_received
    from republish.release.release import Release as Release
    from republish.release.two_tables import TwoTableRelease as TwoTableRelease
    from republish.requirements import AlphaKAnonymity as AlphaKAnonymity
    from republish.requirements import BetaLikeness as BetaLikeness
    from republish.requirements import BTPrivacy as BTPrivacy
    from republish.requirements import DeltaDisclosure as DeltaDisclosure
    from republish.requirements import EntropyLDiversity as EntropyLDiversity
    from republish.requirements import KAnonymity as KAnonymity
    from republish.requirements import LDiversity as LDiversity
    from republish.requirements import ProbabilisticLDiversity as ProbabilisticLDiversity
    from republish.requirements import RecursiveDiversity as RecursiveDiversity
    from republish.requirements import TCloseness as TCloseness
    from republish.requirements import parse_requirements as parse_requirements
    from republish.schema.schema import Category as Category
    from republish.schema.schema import Date as Date
    from republish.schema.schema import Number as Number
    from republish.schema.schema import Ordered as Ordered
    from republish.schema.schema import Schema as Schema
    from republish.schema.schema import read_schema as read_schema
    from republish.series import Series as Series
    from republish.verify.check import Verification as Verification
    from republish.verify.table import verify_table as verify_table


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'republish' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
