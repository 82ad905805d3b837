"""Releases that another tool made before the series began, taken in, so that attacks, gate and promises count them.

The custodian has the raw view of that time and what was published of it: one table, or two. Who is in which group is
not said by tables: everybody is put where her cells and her value fit (`attacks.matching`), or where a column of the
view says she was. The release is kept in our own form as an entry of the chain that says that it was adopted; nothing
is promised of it. What the publisher needs to go on from it is remembered; where no release that follows could keep
what is promised, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from republish.arrays import IntArray
from republish.attacks.adversary import Adversary
from republish.attacks.run import run, target_of
from republish.errors import PolicyError
from republish.gate.run import Coming, WithDraft, judge
from republish.grouping import Grouping
from republish.ledger import Draft, crash_points
from republish.ledger.chain import ADOPT
from republish.memory.membership import Membership
from republish.memory.memory import Memory, compare
from republish.metrics.summary import measures_of
from republish.publishing.about import Size, about_adopted
from republish.publishing.adopt.tables import AdoptedTables
from republish.publishing.as_of import moment_of
from republish.publishing.policy_record import policy_record, require_as_recorded
from republish.publishing.private_files import needs_fresh_base, with_margins, write_private
from republish.publishing.result import Adopted, AdoptOptions, Published
from republish.publishing.steps import CheckedPiece, Piece, Terms
from republish.release.domains import Scales
from republish.release.release import Release
from republish.release.two_tables import (
    AnyRelease,
    Placed,
    StoredRelease,
    TwoTableCounts,
    any_release_of,
    sides_of,
    stored_release,
    values_schema,
)
from republish.series import Series
from republish.verify.check import Check, Verification
from republish.verify.promises import AuditedRelease, signatures_in
from republish.verify.series import check_against_memory
from republish.verify.table import verify_against_view, verify_frame
from republish.verify.two_tables import verify_stored_release

Progress = Callable[[str], None]
STEPS = (
    "reading view and tables",
    "finding groups",
    "writing",
    "verifying",
    "attacking",
    "remembering",
    "committing",
)
ATTACKS = ("intersection", "linear")
"""What is made on all releases so far when one is adopted."""


def adopt(
    series: Series,
    tables: Sequence[Any],
    view: Any,
    options: AdoptOptions,
    progress: Progress | None = None,
) -> Published:
    """One release that another tool made: see `Series.adopt`."""
    step = progress or (lambda _: None)
    ledger, dry_run = series.ledger, options.dry_run
    with ledger.lock("adopt --dry-run") if dry_run else series.writing("adopt"):
        ledger.require_present()
        head, records = ledger.head, series.records
        own = sum(not entry.adopted for entry in records)
        if own:
            raise PolicyError(
                "releases that were made before must be adopted before the first release of the series' own, since it "
                f"counts with them; this series has {own} of its own. Begin a new series and adopt them there"
            )
        require_as_recorded(series.policy, records)
        as_of = moment_of(options.as_of, records[-1].payload["as_of"] if records else None)
        step(STEPS[0])
        made = _Adoption(series, len(records) + 1, as_of)
        release = made.read(tables, view, options)
        step(STEPS[1])
        made.place(release)
        with ledger.stage(made.number) as draft:
            done = made.written(draft, step, dry_run)
            if not dry_run:
                step(STEPS[5])
                kept = made.keep(draft)
                crash_points.reach("private-written")
                step(STEPS[6])
                payload = done.as_dict() | kept | policy_record(series.policy, _NOTHING)
                del payload["folder"]
                ledger.commit(draft, ADOPT, payload, head)
    return done


_NOTHING: dict[str, Any] = {"one_table": "", "series": []}


@dataclass(frozen=True)
class AdoptedPiece(Piece):
    """A release that another tool made, as one piece; what is remembered of it is what promises can count."""

    def after(self, known: Memory) -> Memory:
        """What the publisher needs of the release to go on."""
        return self.terms.publisher.remember_adopted(self.view, self.grouping, known)

    def _read(self, stored: StoredRelease, folder: Any) -> tuple[AnyRelease, Verification]:
        schema = self.view.schema
        of_people = () if stored.two else None
        found = verify_stored_release(stored, schema, (), of_people, None, folder, strict=False)
        return any_release_of(stored, schema, Scales.of(self.view)), found

    def _against_view(self, release: AnyRelease, placed: Placed, codes: IntArray) -> tuple[Check, ...]:
        """Whether everyone's value is counted where she is, and her cells hold her; lines of people may be nobody's."""
        if isinstance(release, Release):
            return (verify_against_view(release, self.view, placed.group, codes),)
        people = sides_of(self.view).people
        there = np.flatnonzero(placed.cell > 0)
        outside = np.zeros(len(there), dtype=np.bool_)
        for cells, points in zip(release.people.cells, people.points, strict=True):
            outside |= ~cells.cover(placed.cell[there].astype(np.int64) - 1, points[there])
        wrong = int(outside.sum())
        says = "Everyone lies in the cells of a line of people."
        return (
            Check("true to the view", wrong == 0, says, None, 0, wrong),
            self._values_against_view(release.values, placed.group, codes),
        )

    def _against_memory(self, *_: Any) -> tuple[Check, ...]:
        return ()


class _Adoption(AdoptedTables):
    """One adoption under way, while the lock is held."""

    def written(self, draft: Draft, step: Progress, dry_run: bool) -> Published:
        """Write the release in our form, check it as it lies there, and say how far it keeps what is promised."""
        step(STEPS[2])
        release, series, policy = self.release, self.series, self.policy
        two = not isinstance(release, Release)
        size = Size.of(release, self.grouping)
        release.write(draft.folder, about_adopted(policy, self.number, self.as_of, size))
        draft.adopt_release()
        crash_points.reach("release-written")
        step(STEPS[3])
        people = () if two else None
        terms = Terms(policy.publisher, (), self.secret, policy.seed, self.number, people)
        cells = Grouping((self.placed.cell - 1).astype(np.int32)) if two else None
        digests = self.view.row_digests(self.secret, series.row_digests)
        self.piece = AdoptedPiece(terms, self.view, self.grouping, digests, self.memory, None, cells)
        with stored_release(draft.folder) as stored:
            self.checked: CheckedPiece = self.piece.checked(stored, self.placed, draft.folder)
            kept = self._promised(stored)
        self.checked.verification.require()
        self.seen = self.piece.seen(self.placed.group)
        left_out = int(np.count_nonzero(self.placed.group == 0))
        if policy.publisher.needs_kept_past:
            _require_kept(policy.publisher.name, kept, left_out)
        self.after = self.checked.remembered(self.seen)  # refused where no release could follow
        step(STEPS[4])
        measures = measures_of([self.checked.sums], self.schema, 0 if two else left_out)
        return Published(
            number=self.number,
            as_of=self.as_of,
            rows=self.view.rows,
            suppressed=left_out,
            counterfeits=measures.counterfeits,
            groups=measures.groups,
            arrivals=compare(self.seen, self.number, self.memory),
            measures=measures,
            verification=self.checked.verification,
            folder=None if dry_run else series.ledger.layout.release(self.number),
            meant=self.expected.meant,
            findings=self.expected.findings,
            expect_anyway=self.expected.anyway,
            two_tables=TwoTableCounts.of(release) if not isinstance(release, Release) else None,
            adopted=self._adopted(kept, left_out),
        )

    def _promised(self, stored: StoredRelease) -> tuple[Check, ...]:
        """How far the release keeps what the series will promise, of its groups and together with earlier ones."""
        policy, view = self.policy, self.view
        of_groups = verify_frame(stored.values, values_schema(self.schema), policy.requirements).checks
        found = [check for check in of_groups if check.promise != "uniform groups"]
        promises = policy.publisher.series_promises
        if promises:
            assert view.people is not None
            values = self.checked.release.values
            signatures = signatures_in(values.group, self.checked.codes, len(view.values))
            members = Membership(view.people, self.placed.group, view.codes)
            now = AuditedRelease(self.number, members, signatures, self.checked.shown)
            found += check_against_memory(
                promises, now, values.sizes, self.memory, policy.publisher.reasoning
            )
        return tuple(found)

    def _adopted(self, kept: tuple[Check, ...], left_out: int) -> Adopted:
        """What was assumed, what holds, and what attacks find in all releases so far."""
        source = WithDraft(self.series, Coming(self.checked.release, self.view, self.seen, adopted=True))
        adversary = Adversary()
        target = target_of(source, adversary, ATTACKS)
        found = {name: asdict(run(target, adversary, name).summary) for name in ATTACKS}
        broken: tuple[str, ...] = ()
        if self.policy.gate is not None:
            broken = tuple(breach.sentence() for breach in judge(self.policy.gate, source).breaches)
        return Adopted(
            stated=self.stated is not None,
            left_out=left_out,
            elsewhere=self.elsewhere,
            nobodys=self.grouping.counterfeits,
            starred=self.starred,
            without_role=self.strange,
            anew=self._anew(),
            promises=tuple(check.as_dict() for check in kept),
            attacks=found,
            gate=broken,
        )

    def _anew(self) -> int:
        """How many published people have no signature that could be kept, where signatures are."""
        if not any(name.startswith(_SIGNED) for name in self.policy.publisher.series_promises):
            return 0
        there = self.placed.group > 0
        assert self.view.people is not None
        entries = self.after.find(self.view.people[there])
        return int(np.count_nonzero(self.after.signature_column()[entries] < 0))

    def keep(self, draft: Draft) -> dict[str, Any]:
        """Write membership and memory; return what the ledger keeps of them."""
        membership = draft.private_file("membership")
        self.checked.membership(self.seen).write(membership)
        path, earlier = draft.private_file("memory"), self.series.memory_files()
        if needs_fresh_base(sum(earlier.values()) + self.seen.size, self.after.size):
            self.after.write(path)
            memory = {draft.name(path): self.after.size}
        else:
            self.after.seen_in(self.number).write(path)
            memory = {**earlier, draft.name(path): self.seen.size}
        scales = Scales.of(self.view), self.schema
        kept = write_private(self.series, draft, scales, self.after.counts, draft.name(membership), memory)
        kept |= {"lacking": self.lacking} if self.lacking else {}
        return with_margins(self.series, draft, self.margins, kept)


_SIGNED = ("m-invariance", "weak-m-invariance", "tau-safety")


def _require_kept(name: str, kept: Sequence[Check], left_out: int) -> None:
    """Refuse a past that a publisher cannot go on from."""
    broken = [check for check in kept if not check.holds]
    if broken:
        raise PolicyError(
            f"{name} promises what all releases together give away, and can count a release made elsewhere only where "
            f"it keeps all that is promised; it does not keep {'; '.join(one.sentence() for one in broken)}. Adopt it "
            "into a series of another publisher, tau-safety in one table for instance"
        )
    if left_out:
        raise PolicyError(
            f"{name} can count a release made elsewhere only where everyone in the view is in it, and {left_out} "
            "people are not; give the view of those who were published"
        )
