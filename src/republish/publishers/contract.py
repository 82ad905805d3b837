"""What a publisher is to everybody else: engines, verification, maintenance, policy, report, tuning and desk.

A publisher is a small frozen dataclass with two pure methods: `publish(view, memory, rng)` returns a `Grouping`,
`remember(view, grouping, memory)` what to keep for the next release. Everything else here has a default that promises
nothing and asks for nothing. Nobody looks at a publisher's type, nor for attributes that are not declared here.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from republish.arrays import BoolArray, IntArray
from republish.errors import CannotPublish
from republish.grouping import Grouping
from republish.inference import Reasoning
from republish.knowledge import Extracted, Knowledge
from republish.knowledge.possible_people import PossibleForPeople
from republish.knowledge.possible_values import PossibleValues
from republish.memory.batch_record import BatchTerms
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.requirements import BTPrivacy, KAnonymity, Requirement, only_requirements
from republish.schema import Schema

_NOT_TEXT = ("require", "knowledge", "whole")


@dataclass(frozen=True)
class KeptSignatures:
    """Who keeps a signature of `m` values: whoever has the value of her last release, or, with `within`, any of it.

    With `present` only whoever was in the last release. The others must be m-eligible unless the publisher `pads`.
    """

    m: int
    within: bool = False
    present: bool = False
    pads: bool = False


@dataclass(frozen=True)
class Division:
    """How a view may be divided into parts that share no group: regions of space, or ranges of the Hilbert curve.

    Whoever keeps a signature goes where most of those with the same signature are. With `together` groups of everybody
    are decided on by one task, which is told no more than quasi-identifiers, values, and what is remembered.
    """

    along: str = "bang"
    signatures: KeptSignatures | None = None
    together: bool = False


GATHERED, HALVED, DEALT = "gathered", "halved", "dealt"


@dataclass(frozen=True)
class Forming:
    """How people who hide among the same values are put into groups: no secret to whoever reads the program.

    GATHERED: groups of one row of each value, one after the other, each around a row drawn at random and then by the
    nearest row of the next value that is left, in parts of at most `most` groups. HALVED: parts of rows are cut in two,
    of each value the lower half along one quasi-identifier to one side, until they have at most `most` rows of a value.
    DEALT: by chance that does not look at values, so that any way in which people of a group have their values is as
    likely; of which values are theirs and which are counterfeits' see `Publisher.zones`.
    """

    rule: str
    most: int = 1


class MustWait(CannotPublish):
    """The view can be published without these rows, which come with a later one."""

    def __init__(self, message: str, rows: BoolArray) -> None:
        super().__init__(message)
        self.rows = rows


class Publisher(ABC):
    """What every publisher offers; a subclass is a frozen dataclass, its fields are the parameters."""

    name: ClassVar[str]
    paper: ClassVar[str]
    summary: ClassVar[str]
    protects_series: ClassVar[bool] = False
    uses_knowledge: ClassVar[bool] = False
    """Whether it has a field `knowledge` and a `reasoning`."""
    keeps_places: ClassVar[bool] = False
    """Whether the counts in its memory are places that single people shaped: they go when somebody is forgotten."""
    keeps_counts: ClassVar[bool] = False
    """Whether batches keep counts of earlier releases: what it adds are people who left or changed since."""
    cell_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters whose texts hold values of columns: a report does not show them."""
    two_table_defaults: ClassVar[dict[str, Any]] = {}
    """Parameters that two tables are better served by, where none are given."""
    open_list_defaults: ClassVar[dict[str, str]] = {}
    """Parameters of a new series whose sensitive values are not listed, where none are given: as another one is."""
    unsaid: ClassVar[dict[str, Any]] = {}
    """What a stored policy means that does not name a parameter, because it is older than this: not the default."""
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    require: tuple[Requirement, ...]
    """What is asked of every group beside what the publisher is about."""
    knowledge: Knowledge | Extracted | None = None
    """What an adversary is taken to know."""
    bt: BTPrivacy | None = None
    """The (B,t)-privacy of every release, checked while the view is at hand."""

    @property
    def possible(self) -> PossibleValues | PossibleForPeople | None:
        """Which values a person may have at all, where it is looked at; by column while the view is at hand."""
        return None

    @property
    @abstractmethod
    def requirements(self) -> tuple[Requirement, ...]:
        """What every group satisfies."""

    @property
    def series_promises(self) -> tuple[str, ...]:
        """What holds over all releases together, as `verify` reads it; empty where each is protected alone."""
        return ()

    @property
    def told_by_choices(self) -> str | None:
        """What choices by value tell whoever knows the program, as a sentence; `None` where it is nothing."""
        return None

    @property
    def reasoning(self) -> Reasoning | None:
        """How an adversary is taken to think, `None` where no thought is given to her."""
        return None

    @property
    def forming(self) -> Forming | None:
        """How people are put together, for attacks by who knows the program; `None` where that is not told."""
        return None

    def zones(self, view: Microdata, memory: Memory) -> IntArray | None:
        """Return the zone of every row where one value of each bucket of a zone has no counterfeit, else `None`.

        A bucket is all groups of a zone with the same values, each once.
        """
        return None

    @property
    def undivided(self) -> str | None:
        """Why a release cannot be made in parts, as a clause; `None` where it can, by `division`."""
        return f"{self.name} does not say how a view may be divided"

    @property
    def division(self) -> Division:
        """How a view may be divided into parts."""
        return Division()

    def waits(self, view: Microdata, memory: Memory) -> BoolArray:
        """Who is left out of this release, as if not in the view, and comes with a later one: nobody."""
        return np.zeros(view.rows, dtype=np.bool_)

    @abstractmethod
    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        """Return the groups of one view.

        Raises:
            CannotPublish: there are none that keep what is promised; `MustWait` where there would be without some rows.
        """

    def remember(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory after that release: as it is, where nothing of a release matters for the next."""
        return memory

    @property
    def needs_kept_past(self) -> bool:
        """Whether releases that another tool made count only where they keep all that is promised here."""
        return False

    def remember_adopted(self, view: Microdata, grouping: Grouping, memory: Memory) -> Memory:
        """Return the memory after a release that another tool made: what promises over the series need of it.

        Raises:
            PolicyError: no release that follows could keep the promises.
        """
        return self.remember(view, grouping, memory) if self.series_promises else memory

    def batch_terms(self, view: Microdata) -> BatchTerms | None:
        """Return what batches that look at no value are found anew by, `None` where batches are others."""
        return None

    def in_two_tables(self) -> Publisher:
        """Return the publisher whose groups are the batches of two tables: whole, never cut for the sake of space.

        A group that is cut says more and is no more useful where quasi-identifiers stand in a table of their own.
        """
        return self

    def require_fit(self, schema: Schema) -> None:  # noqa: B027 - most publishers know no column by name
        """Refuse parameters that the columns of a schema cannot have, before there is a view of it."""

    def with_knowledge(self, knowledge: Knowledge | Extracted) -> Self:
        """Return the same publisher with other knowledge; only where it `uses_knowledge`."""
        return dataclasses.replace(self, **{"knowledge": knowledge})

    @classmethod
    def parameters(cls) -> dict[str, dataclasses.Field[Any]]:
        """Return the fields that can be given as texts, by name: all but requirements and knowledge."""
        return {field.name: field for field in dataclasses.fields(cls) if field.name not in _NOT_TEXT}


def parameters_of(publisher: Publisher) -> dict[str, Any]:
    """The parameters that `make_publisher` would need, requirements and what is not asked for aside."""
    given = {name: getattr(publisher, name) for name in publisher.parameters()}
    return {
        name: value.parameter if isinstance(value, BTPrivacy) else value
        for name, value in given.items()
        if value is not None
    }


def stored_parameters(publisher: Publisher) -> dict[str, Any]:
    """The parameters that a policy names: all but those that it means without a word."""
    return {
        name: value
        for name, value in parameters_of(publisher).items()
        if name not in publisher.unsaid or value != publisher.unsaid[name]
    }


@dataclass(frozen=True)
class Partitioner(Publisher):
    """Partitions the rows of each release, alone, into groups of at least `k` that satisfy `require`."""

    k: int = 5
    require: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", KAnonymity(self.k).k)
        object.__setattr__(self, "require", only_requirements(self.require))

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (KAnonymity(self.k), *self.require)

    @property
    def undivided(self) -> str | None:
        """Nothing keeps a part from being partitioned alone."""
        return None
