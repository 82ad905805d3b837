"""Batches of several sizes tried in memory, the smallest first, until one is good."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from republish.errors import CannotPublish
from republish.microdata import Microdata
from republish.publishers import ValueBlind
from republish.release.forms import TwoTables
from republish.tune.dry_run import DIVERSITIES, DryRun, dry_run

SIZES = (60, 90, 150, 300, 600)
LATE = 0.07
"""So many of the rows may wait or be held."""
_NEVER = 0.001  # of the rows wait or are held where all batches are counted anew every time
_DIVERSE = 0.98  # of the batches have no value too often by themselves
_SECONDS = 15.0  # after which no other size is tried
_MANY = 150  # a batch of so many may wait for more than five to leave together
_APART = 1.4  # half of a small table is tried where it is so much larger than the last of the sizes
Progress = Callable[[int, int], None]


@dataclass
class BatchSearch:
    """Sizes, the smallest first, until one is good."""

    views: Sequence[Microdata]
    rows: int
    progress: Progress
    form: TwoTables
    least_m: int = DIVERSITIES[0]

    def __post_init__(self) -> None:
        self.tried: list[DryRun] = []
        self._end = monotonic() + _SECONDS
        fitting = [size for size in SIZES if size * 2 <= self.rows]
        half = [self.rows // 2] if self.rows // 2 >= _APART * (fitting or [self.rows])[-1] else []
        # Of a small table half, or everybody, may be one batch.
        self.sizes = [*fitting, *half, self.rows] if self.rows < 2 * SIZES[-1] else fitting

    def best(self, kind: str) -> DryRun | None:
        """The first that is good, else the one with the fewest rows late; `None` where all would be refused."""
        kept: list[DryRun] = []
        candidates = list(self._candidates(kind))
        for number, candidate in enumerate(candidates):
            self.progress(number, len(candidates))
            if kept and monotonic() > self._end:
                break
            if any(
                run.publisher.batches == kind and run.publisher.size == candidate.size and run.late < _NEVER
                for run in self.tried
            ):
                continue  # so many leave and come that a larger n makes no difference
            run = self._tried(candidate)
            if run is None:
                continue
            kept.append(run)
            if run.late <= LATE:
                self.progress(len(candidates), len(candidates))
                return run
        kept = kept or self._bounded(candidates[-1:])  # held back by the bound, the largest may do
        return min(kept, key=lambda run: run.late, default=None)

    def _bounded(self, candidates: Sequence[ValueBlind]) -> list[DryRun]:
        """What comes of candidates whose batches are not counted anew where the bound forbids it."""
        runs = []
        for candidate in candidates:
            try:
                runs.append(dry_run(self.views, candidate, hindered=True, form=self.form))
            except CannotPublish:
                continue
        self.tried.extend(runs)
        return runs

    def _candidates(self, kind: str) -> Iterator[ValueBlind]:
        for size in self.sizes:
            for n in (5, 6, 8) if size >= _MANY else (5,):
                yield ValueBlind(batches=kind, size=size, n=n, m=self.least_m)

    def _tried(self, candidate: ValueBlind) -> DryRun | None:
        """What comes of a candidate with the largest m that the values allow; `None` where the bound is not kept."""
        try:
            run = dry_run(self.views, candidate, form=self.form)
        except CannotPublish:
            return None
        self.tried.append(run)
        if run.bound > candidate.max_determined:
            return None
        m = max([self.least_m, *(m for m in DIVERSITIES if run.diverse[m] >= _DIVERSE)])
        for diverse in range(m, self.least_m - 1, -1):
            for bounded in self._bounded([replace(candidate, m=diverse)]):
                if bounded.late <= LATE or diverse == self.least_m or monotonic() > self._end:
                    return bounded
        return None
