"""Knowledge counted from the views of the series itself, anew with every release (IE of JS-reduce, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from republish.errors import PolicyError
from republish.knowledge.classes import Classes
from republish.knowledge.knowledge import Knowledge, codes_of, digest_of
from republish.knowledge.transitions import Transitions
from republish.knowledge.words import GAPS, UNSEEN, require_known, said
from republish.knowledge.writer import write_extracted


@dataclass(frozen=True, eq=False)
class Extracted:
    """The source "from the views themselves": counts of all views up to the present one become knowledge.

    Attributes:
        order: How many last values the sequential part looks at; 0 for a prior alone.
        classes: The classes to count by.
        terminal: Values after which a person does not come back.
        smoothing: As in `Transitions.to_knowledge`.
        unseen, gaps: As in `Knowledge`. Where gaps count, only values of releases in a row are successions.
        prior: Its prior stands in place of the counted one.
        sequential: Its sequential part stands in place of the counted one.
        counted: The counts up to the present view, where they were made elsewhere: a part of a view cannot make them.
    """

    order: int = 2
    classes: Classes = field(default_factory=Classes.everyone)
    terminal: tuple[Any, ...] = ()
    smoothing: float = 0.0
    prior: Knowledge | None = None
    sequential: Knowledge | None = None
    counted: Transitions | None = None
    unseen: str = "shorter"
    gaps: str = "skip"

    def __post_init__(self) -> None:
        if self.order not in (0, 1, 2, 3):
            raise PolicyError(f"the order of extracted knowledge is 0, 1, 2 or 3, not {self.order}")
        require_known("unseen", self.unseen, UNSEEN)
        require_known("gaps", self.gaps, GAPS)
        if not 0 <= self.smoothing < float("inf"):
            raise PolicyError("smoothing must be a number from 0")
        given = [part for part in (self.prior, self.sequential) if part is not None]
        if len(given) == 2:
            raise PolicyError(
                "with prior and sequential part both given nothing is counted; make one Knowledge of them"
            )
        if any(part.classes != self.classes for part in given):
            raise PolicyError("the given part of the knowledge must have the classes that are counted by")
        if self.sequential is not None and self.sequential.order != self.order:
            raise PolicyError("the order must be that of the sequential part given")

    @property
    def remembered(self) -> int:
        """How many last values of each person must be kept; the order of the counts."""
        return 1 if self.sequential is not None else max(self.order, 1)

    def start(self) -> Transitions:
        return Transitions.empty(self.remembered)

    def knowledge(self, counts: Transitions, values: pl.Series) -> Knowledge:
        """What the counts say, those of the present view included; `values` are what its codes stand for."""
        ends = codes_of(values, self.terminal)
        counted = counts.to_knowledge(values, self.classes, self.smoothing, ends)
        prior = counted.prior if self.prior is None else self.prior.aligned(values).prior
        if self.order == 0:
            return Knowledge(values, self.classes, prior, terminal=counted.terminal)
        source = counted if self.sequential is None else self.sequential.aligned(values)
        made = replace(counted, prior=prior, sequential=source.sequential, order=self.order)
        return replace(made, unseen=self.unseen, gaps=self.gaps)

    def write(self, folder: str | Path, sensitive: str) -> None:
        """Write what `read_knowledge` reads; `sensitive` is the name of the sensitive column."""
        write_extracted(self, Path(folder), sensitive)

    def digest(self) -> str:
        """A digest of how knowledge is counted and of the parts that are given; the counts are not part of it."""
        prior, later = self.prior, self.sequential
        if prior is not None:
            prior = replace(prior, sequential=None, order=0, terminal=())
        if later is not None:
            later = replace(later, prior=np.full_like(later.prior, 1 / later.size), terminal=())
        about = {
            "order": self.order,
            "classes": self.classes.document(),
            "terminal": list(self.terminal),
            "smoothing": self.smoothing,
            "prior": prior and prior.digest(),
            "sequential": later and later.digest(),
            **said(self.unseen, self.gaps),
        }
        return digest_of(about)
