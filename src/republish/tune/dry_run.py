"""Value-blind batches made of past views in memory: what would wait, be held and could be determined.

Nothing is stored and nothing leaves. Where there are few views, those that might follow are drawn by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from republish.arrays import FloatArray, IntArray, WordArray
from republish.grouping import Grouping, Regions
from republish.inference.determination import batch_risk
from republish.memory.batch_record import BatchRecord
from republish.memory.memory import Memory, sight
from republish.metrics.queries import query_error
from republish.microdata import Microdata
from republish.publishers import ValueBlind, parameters_of
from republish.release.forms import TwoTables
from republish.release.two_tables import build_two_tables
from republish.secret import Secret, order_of
from republish.spatial.batch_cells import hiding_batches
from republish.spatial.kept_cuts import KeptCuts

SIMULATED, TURNOVER = 12, 0.1
"""How many views a series is made to have, and the share of people who leave, come and change where it is not known."""
DIVERSITIES = range(2, 7)
"""What m may be."""
_QUERIES = 300
_SEED = 1
_FORM = TwoTables()
_SECRET = Secret.from_text("a dry run, of which nothing is kept")


@dataclass(frozen=True)
class DryRun:
    """What came of a publisher: shares of the rows after the first view, and of the people.

    Attributes:
        waiting: rows whose values are not counted yet, or in no batch.
        held: people who are counted as they were when a batch was last counted.
        diverse: the share of batches that would have no value too often, by m.
        error: how far counts by quasi-identifiers and value are from the true ones, in the median.
        bound: the share of people who could be determined at most, on average, and `worst` that of the worst placed.
    """

    publisher: ValueBlind
    waiting: float
    held: float
    diverse: dict[int, float]
    error: float
    bound: float
    worst: float

    @property
    def late(self) -> float:
        """The share of rows that are not counted as they are."""
        return self.waiting + self.held

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        figures = {field.name: getattr(self, field.name) for field in fields(self)}
        return figures | {"publisher": self.publisher.name, "parameters": parameters_of(self.publisher)}


class _Unhindered(ValueBlind):
    """Counts batches anew whatever the bound says: it is computed once, at the end."""

    def _exceeding(self, *_arguments: Any, **_named: Any) -> IntArray | None:
        return None


class ViewTurnover(NamedTuple):
    """From one view to the next: the share who leave, of the others who change their value, of rows of returns."""

    left: float
    changed: float
    returned: float


def turnover_of(views: Sequence[Microdata]) -> ViewTurnover:
    """The shares over all views together, 0 where there is one only."""
    there = stayed = changed = back = rows = 0
    earlier = np.zeros(0, dtype=np.uint64)
    for before, now in pairwise(views):
        (was, row_then), (here, row_now) = people_once(before), people_once(now)
        common, then, at = np.intersect1d(was, here, return_indices=True)
        there, stayed = there + len(was), stayed + len(common)
        changed += int((before.codes[row_then[then]] != now.codes[row_now[at]]).sum())
        back += int(np.isin(np.setdiff1d(here, was), earlier).sum())
        rows += now.rows
        earlier = np.union1d(earlier, was)
    return ViewTurnover(1 - stayed / there if there else 0.0, changed / max(stayed, 1), back / max(rows, 1))


def people_once(view: Microdata) -> tuple[WordArray, IntArray]:
    """Everyone once, and her first row."""
    assert view.people is not None
    return np.unique(view.people[:, 0], return_index=True)


def simulated(views: Sequence[Microdata], changed: float = TURNOVER) -> list[Microdata]:
    """The views and such as might follow, until there are enough.

    Some leave, as many come who are like others, some change to the value of somebody else: as many as before, or,
    where one view does not tell, a tenth leaves and the share `changed` changes.
    """
    share = turnover_of(views) if len(views) > 1 else ViewTurnover(TURNOVER, changed, 0.0)
    chance = np.random.default_rng(_SEED)
    found = list(views)
    while len(found) < SIMULATED and found[-1].rows:
        found.append(_next(found[-1], share, chance))
    return found


def _next(last: Microdata, share: ViewTurnover, chance: np.random.Generator) -> Microdata:
    moved = round(share.left * last.rows)
    stay = chance.permutation(last.rows)[moved:]
    alike = chance.integers(0, last.rows, moved)
    codes = last.codes[stay]
    changing = chance.random(len(stay)) < share.changed
    codes[changing] = last.codes[chance.integers(0, last.rows, int(changing.sum()))]
    assert last.people is not None
    strangers = chance.integers(0, 2**64, (moved, last.people.shape[1]), dtype=np.uint64)
    people = np.concatenate([last.people[stay], strangers])
    order = order_of(people)
    return replace(
        last,
        points=np.ascontiguousarray(np.hstack([last.points[:, stay], last.points[:, alike]])[:, order]),
        codes=np.concatenate([codes, last.codes[alike]])[order],
        people=people[order],
        insensitive=last.insensitive.clear(),
    )


def dry_run(
    views: Sequence[Microdata], publisher: ValueBlind, hindered: bool = False, form: TwoTables = _FORM
) -> DryRun:
    """Make batches of all views, oldest first, and both tables of the last.

    Unless it is `hindered` by the bound, as releases are, the bound is computed once at the end, which is much faster.

    Raises:
        CannotPublish: a value of the first view is too frequent, the bound cannot be kept, or the last view has fewer
            people than must look alike.
    """
    settings: dict[str, Any] = parameters_of(publisher)
    trial = (ValueBlind if hindered else _Unhindered)(**settings, whole=True)
    memory, chance = Memory.empty(), np.random.default_rng(_SEED)
    waiting = held = rows = 0
    shares: list[FloatArray] = []
    for number, view in enumerate(views, start=1):
        made = trial.publish(view, memory, chance)
        seen = sight(view, np.zeros(view.rows, dtype=np.uint64), made.group + 1, number, memory)
        memory = trial.remember(view, made, memory.merged(seen))
        shares.append(_largest_shares(view, made))
        if number > 1 or len(views) == 1:
            waiting, held, rows = waiting + made.suppressed, held + made.counterfeits, rows + view.rows
    risk = batch_risk(BatchRecord.of(memory).stays, publisher.compromised)
    largest = np.concatenate(shares)
    return DryRun(
        publisher,
        waiting / max(rows, 1),
        held / max(rows, 1),
        {m: float((largest * m <= 1).mean()) if len(largest) else 1.0 for m in DIVERSITIES},
        _error(views[-1], made, form),
        risk.share,
        risk.worst,
    )


def _counts(view: Microdata, made: Grouping) -> IntArray:
    """How often every batch counts every value."""
    rows = made.group >= 0
    values = max(
        len(view.values), int(view.codes.max(initial=0)) + 1, int(made.counterfeit_code.max(initial=0)) + 1
    )
    group = np.concatenate([made.group[rows], made.counterfeit_group]).astype(np.int64)
    code = np.concatenate([view.codes[rows], made.counterfeit_code]).astype(np.int64)
    return np.bincount(group * values + code, minlength=made.groups * values).reshape(made.groups, values)


def _largest_shares(view: Microdata, made: Grouping) -> FloatArray:
    """The share that the most frequent value has of every batch."""
    counts = _counts(view, made)
    shares: FloatArray = counts.max(axis=1, initial=0) / np.maximum(counts.sum(axis=1), 1)
    return shares


def _error(view: Microdata, made: Grouping, form: TwoTables) -> float:
    """The median error of counts by quasi-identifiers and value, as the tables of people and values would answer."""
    assert made.snapshots is not None
    if not view.rows or not made.groups:
        return 0.0
    bare = replace(view, schema=replace(view.schema, insensitive=()), insensitive=view.insensitive.select([]))
    divided = KeptCuts.none().divide(bare, form.k)
    if form.hide_batch:
        divided = hiding_batches(bare, divided, made.snapshots.listed, form.k)
    cells = Grouping(divided.cell.astype(np.int32), regions=Regions(divided.low, divided.high))
    release, _ = build_two_tables(bare, made, cells, _SECRET, "dry run")
    return query_error(release, bare, _QUERIES, _SEED, sensitive=True).median
