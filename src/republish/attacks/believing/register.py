"""Who was in every view, and of which class of people: what an adversary looks up before she thinks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from republish.arrays import Int8Array, IntArray
from republish.attacks.history import History
from republish.attacks.source import Source
from republish.attacks.tables import Table
from republish.errors import PolicyError
from republish.inference import CHANGED, STAYED, UNTOLD
from republish.knowledge import Classes
from republish.memory.event_lists import ABSENT, Events
from republish.microdata import read_view
from republish.secret import pseudonym_texts

UNKNOWN = -1


@dataclass(frozen=True)
class Register:
    """Everyone in every view: number in the history, class of knowledge, true code; one array of each a release.

    Whoever was left out of a release is in it too. `values` are what the codes stand for. Codes tell her the values of
    compromised people and are counted where knowledge is extracted from the views; -1 where they are not given.
    With event lists `changed` says of everyone whether the value differs from that of the appearance before.
    """

    values: pl.Series
    person: tuple[IntArray, ...]
    classes: tuple[IntArray, ...]
    codes: tuple[IntArray, ...]
    changed: tuple[Int8Array, ...] | None = None

    @classmethod
    def of_tables(
        cls,
        values: pl.Series,
        tables: Sequence[Table],
        classes: Sequence[IntArray] | None = None,
        codes: Sequence[IntArray] | None = None,
    ) -> Register:
        """The register of releases given as arrays; classes and codes run parallel to the members of each table.

        Without classes everyone is in one.
        """
        person = tuple(table.person for table in tables)
        made = cls(
            values,
            person,
            tuple(np.zeros_like(who) for who in person) if classes is None else tuple(classes),
            tuple(np.full_like(who, UNKNOWN) for who in person) if codes is None else tuple(codes),
        )
        lengths = [[len(part) for part in parts] for parts in (made.person, made.classes, made.codes)]
        if not lengths[0] == lengths[1] == lengths[2]:
            raise PolicyError("a register needs a class and a code for every member of every table")
        return made

    def until(self, release: int) -> Register:
        """The register of the releases up to one of them (1, 2, ...)."""
        changed = None if self.changed is None else self.changed[:release]
        return Register(
            self.values, self.person[:release], self.classes[:release], self.codes[:release], changed
        )

    def with_events(self, events: Events) -> Register:
        """The register with what event lists say of changes.

        From one life to the next the value changed; of longer ways it is not known whether they led back.
        """
        life = np.full(events.people, ABSENT, dtype=np.int64)
        changed = []
        for i, who in enumerate(self.person):
            steps = events.life[who, i] - life[who]
            mark = np.select([steps == 0, steps == 1], [STAYED, CHANGED], UNTOLD)
            mark[life[who] == ABSENT] = UNTOLD
            changed.append(mark.astype(np.int8))
            life[who] = events.life[who, i]
        return replace(self, changed=tuple(changed))

    def published(self, history: History) -> Register:
        """The register without those who were left out of a release: what is known without event lists."""
        there = np.zeros((history.releases, history.people), dtype=np.bool_)
        there[history.release, history.person] = True
        kept = [there[i, who] for i, who in enumerate(self.person)]
        person, classes, codes = (
            tuple(part[keep] for part, keep in zip(parts, kept, strict=True))
            for parts in (self.person, self.classes, self.codes)
        )
        return Register(self.values, person, classes, codes)


def granted_view(series: Source, number: int, view: Any, classes: Classes) -> pl.DataFrame:
    """Private: pseudonym, sensitive code and class of everyone in the raw view of a release."""
    raw = read_view(view, series.schema, series.values_at(number)).pseudonymous(series.secret())
    assert raw.people is not None
    return pl.DataFrame(
        [pseudonym_texts(raw.people), pl.Series("code", raw.codes), pl.Series("class", classes.of(raw))]
    )


def register_of(
    series: Source, history: History, classes: Classes, truth: Sequence[pl.DataFrame] | None = None
) -> Register:
    """The register of a published series, for knowledge with these classes.

    A person's class is found from quasi-identifiers. They come with `truth`, frames as `granted_view` makes them, or
    the series keeps the classes because its own knowledge has them; where all people are one class neither is needed.
    """
    assert history.names is not None
    index = history.names.to_frame("person").with_row_index("index")
    person: list[IntArray] = []
    kinds: list[IntArray] = []
    codes: list[IntArray] = []
    for number in range(1, history.releases + 1):
        given = None if truth is None else truth[number - 1]
        found = _view(series, number, classes, given)
        found = found.join(index, on="person", how="inner", maintain_order="left")  # nobody who was forgotten
        for name, parts in zip(("index", "class", "code"), (person, kinds, codes), strict=True):
            parts.append(found[name].cast(pl.Int64).to_numpy())
    values = series.known_values() if history.releases else pl.Series("", [], dtype=pl.String)
    return Register(values, tuple(person), tuple(kinds), tuple(codes))


def _view(series: Source, number: int, classes: Classes, given: pl.DataFrame | None) -> pl.DataFrame:
    """Person, code and class of everyone in one release."""
    members = series.members(number)
    seen = members.table()
    stored = series.reasoning is not None and series.reasoning.knowledge.classes == classes
    if given is not None:
        seen = seen.drop("code").join(given, on="person", how="left", maintain_order="left")
    if not classes.columns:
        return seen.select("person", "code", pl.lit(0).alias("class"))
    if "class" in seen.columns:
        return seen.select("person", "code", "class")
    if not stored or members.classes is None:
        raise PolicyError(
            "the classes of this knowledge are found from quasi-identifiers, and the series keeps none of them; give "
            "the raw views (--truth DIR), or knowledge with the classes of the series"
        )
    return seen.select("person", "code", pl.Series("class", members.classes))
