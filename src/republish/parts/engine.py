"""What an engine offers to a series; `Here` and `Spark` differ in who moves the blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from republish.attacks.adversary import Adversary
from republish.errors import PolicyError
from republish.metrics import Measures
from republish.parts.attack.run import EXCLUDING, FoundInParts, attack_in_parts
from republish.parts.blocks import Mover
from republish.parts.measure import measure_in_parts
from republish.parts.publish.run import STEPS, InParts, Workforce
from republish.parts.verify.run import verify_in_parts
from republish.publishing.maker import Progress
from republish.publishing.result import Published, ReleaseOptions
from republish.publishing.run import publish
from republish.series import Series
from republish.verify.series import SeriesVerification

PART_ROWS = 250_000


class Engine(ABC):
    """Machines that make a release in parts: each of about `part_rows` rows, or so many `parts`."""

    part_rows: int
    parts: int | None
    steps: ClassVar[tuple[str, ...]] = STEPS

    def __post_init__(self) -> None:
        for name, found in (("part_rows", self.part_rows), ("parts", self.parts)):
            if found is not None and (isinstance(found, bool) or not isinstance(found, int) or found < 1):
                raise PolicyError(f"{name} must be a whole number of at least 1")

    @abstractmethod
    def mover(self) -> Mover[Any]:
        """What moves the blocks of one piece of work."""

    def walking_mover(self) -> Mover[Any]:
        """What moves the blocks of work that goes from release to release, each step on what the last one left."""
        return self.mover()

    def publish(
        self, series: Series, view: Any, options: ReleaseOptions, progress: Progress | None = None
    ) -> Published:
        """One release of a view: see `Series.publish`."""
        if options.compromised is not None:
            raise PolicyError(
                "compromised records are for releases made by one process; leave out the engine"
            )
        if options.theta is not None:
            raise PolicyError(
                "possible values of single people are for releases made by one process; leave out the engine"
            )
        mover = self.mover()
        try:
            make = partial(InParts, Workforce(mover, self.part_rows, self.parts))
            return publish(series, view, options, progress, make)
        finally:
            mover.release()

    def verify(
        self, series: Series, progress: Callable[[int, int], None] | None = None
    ) -> SeriesVerification:
        """Everything that a series promises, from what is stored; `Series.verify` adds what its policy has wrong."""
        return verify_in_parts(series.snapshot(), self.walking_mover(), self.part_rows, self.parts, progress)

    def measure(
        self, series: Series, truth: Sequence[Any] | None = None, queries: int = 1_000
    ) -> dict[int, Measures]:
        """Usefulness and one-table risk of every release, by its number; `truth` are the raw views, one a release.

        What needs all groups that could hold a row of the view, divergence and record linkage, is not measured.
        """
        return measure_in_parts(series.snapshot(), self.mover(), self.part_rows, self.parts, truth, queries)

    def attack(
        self,
        series: Series,
        adversary: Adversary | None = None,
        attacks: Sequence[str] = EXCLUDING,
        m: int | None = None,
    ) -> dict[str, FoundInParts]:
        """What each attack finds out about everyone it was not told of: the figures of `republish.attacks.attack`.

        Attacks that need everybody at once are refused.
        """
        found, stored = adversary or Adversary(), series.snapshot()
        return attack_in_parts(stored, self.walking_mover(), self.part_rows, self.parts, found, attacks, m)
