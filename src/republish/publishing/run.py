"""The frame of a release: lock, moment, policy, plausibility, stage, gate and commit, whoever makes its pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from republish.errors import CannotPublish, LimitBroken
from republish.expect import compare as compare_margins
from republish.ledger import Draft, Entry, crash_points
from republish.metrics.summary import measures_of
from republish.publishing.as_of import moment_of
from republish.publishing.correction import require_correctable
from republish.publishing.maker import Maker, Progress
from republish.publishing.one_process import OneProcess
from republish.publishing.plausibility import Expected, Turnout, require_plausible, with_past
from republish.publishing.policy_record import policy_record, require_another_release
from republish.publishing.preview import Preview, changes
from republish.publishing.private_files import with_margins
from republish.publishing.remedies import offered
from republish.publishing.result import Published, ReleaseOptions
from republish.publishing.stronger import larger_offered
from republish.publishing.view_digest import KEY as VIEW_DIGEST

if TYPE_CHECKING:
    from republish.publishers import Publisher
    from republish.series import Series


def publish(
    series: Series,
    view: Any,
    options: ReleaseOptions,
    progress: Progress | None = None,
    make: Callable[[Series, ReleaseOptions, Progress], Maker] = OneProcess,
) -> Published:
    """One release of a view: see `Series.publish`; `make` says who makes its pieces."""
    ledger, dry_run = series.ledger, options.dry_run
    with ledger.lock("publish --dry-run") if dry_run else series.writing("publish"):
        ledger.require_present()
        head, records = ledger.head, series.records
        require_correctable(options.corrects, records)
        last = records[-1].payload["as_of"] if records else None
        dated = partial(moment_of, options.as_of, last, options.corrects is not None)
        if options.as_of != last:  # else it may be a job that runs again, with nothing new
            dated()
        require_another_release(series.policy, records, series.root)

        def released(told: ReleaseOptions) -> Published:
            return _released(make(series, told, progress or (lambda _: None)), view, dated, head)

        def remedies(limit_broken: bool) -> str:
            """What would pass, after it was tried; an engine has no gate, and holds nobody."""
            if make is not OneProcess or not options.remedies:
                return ""
            found = [offered(options, len(records), released)]
            if limit_broken:
                begun = partial(_as_new_series, series, view, options)
                found.append(larger_offered(series.in_force, series.root, len(records), begun))
            return ". ".join(filter(None, found))

        try:
            done = released(options)
            if done.gate is None or done.gate.passed:
                return done
            return replace(done, remedy=remedies(True))
        except (CannotPublish, LimitBroken) as problem:
            remedy = remedies(isinstance(problem, LimitBroken))
            raise type(problem)(f"{problem}. {remedy}" if remedy else str(problem)) from None


def _released(maker: Maker, view: Any, dated: Callable[[], str], head: Entry) -> Published:
    """The release that a maker makes of a view, committed unless it is a dry run."""
    with maker.open:
        found = maker.read(view)
        expected = _expected(maker, found)
        as_of = dated()
        crash_points.reach("view-read")
        maker.group()
        crash_points.reach("grouped")
        with maker.series.ledger.stage(maker.number) as draft:
            done = _made(maker, draft, as_of, found.rows - maker.waiting, expected)
            if not maker.options.dry_run:
                _committed(maker, draft, done, head)
    return done


def _as_new_series(series: Series, view: Any, options: ReleaseOptions, publisher: Publisher) -> Published:
    """A dry run of the view as the first release of a series with another publisher, which is gone afterwards."""
    policy = series.in_force
    with TemporaryDirectory(dir=series.ledger.layout.scratch) as folder:
        begun = type(series).create(
            Path(folder) / "series",
            series.schema,
            publisher,
            seed=policy.seed,
            one_table=policy.one_table,
            gate=policy.gate,
            form=policy.form,
            expect=policy.expectations,
        )
        told = ReleaseOptions(options.as_of, dry_run=True, compromised=options.compromised)
        maker = OneProcess(begun, told, lambda _: None)
        return _released(maker, view, partial(moment_of, told.as_of, None, False), begun.ledger.head)


def _expected(maker: Maker, found: Turnout) -> Expected:
    """Compare the view with the last one, and refuse what is not expected of it unless that is meant."""
    expect, options = maker.policy.expectations, maker.options
    found = with_past(found, maker.view_digest, maker.series.ledger.entries())
    columns = compare_margins(maker.margins, maker.series.margins(), expect)
    return require_plausible(found, (*found.findings(expect), *columns), options.meant, options.expect_anyway)


def _made(maker: Maker, draft: Draft, as_of: str, rows: int, expected: Expected) -> Published:
    """Write the pieces, check them as they lie there, measure them, and ask the gate."""
    pieces = maker.write(draft, as_of)
    verification = maker.checked_pieces(pieces).with_checks(*maker.of_whole(pieces))
    verification.require()
    crash_points.reach("verified")
    suppressed = sum(piece.suppressed for piece in pieces)
    # People without a batch are shown all the same.
    left_out = 0 if maker.policy.form is not None else suppressed
    measures = measures_of([piece.sums for piece in pieces], maker.schema, left_out)
    done = Published(
        number=maker.number,
        as_of=as_of,
        rows=rows,
        suppressed=suppressed,
        counterfeits=measures.counterfeits,
        groups=measures.groups,
        arrivals=maker.arrivals,
        measures=measures,
        verification=verification,
        folder=None if maker.options.dry_run else maker.series.ledger.layout.release(maker.number),
        gate=maker.judge(),
        corrects=maker.correction(),
        meant=expected.meant,
        findings=expected.findings,
        expect_anyway=expected.anyway,
        waiting=maker.waiting,
        two_tables=maker.counts(),
        alike=maker.alike(),
        usefulness=maker.usefulness(),
    )
    return replace(done, preview=_preview(maker, done)) if maker.options.dry_run else done


def _preview(maker: Maker, done: Published) -> Preview:
    """What is seen of a dry run; no rows of what the gate refuses."""
    records = maker.series.records
    before = records[-1].payload if records else None
    change = changes(before, done.as_dict(), maker.policy.publisher.keeps_counts)
    found = replace(maker.preview(), change=change)
    return found if done.gate is None or done.gate.passed else replace(found, tables=())


def _committed(maker: Maker, draft: Draft, done: Published, head: Entry) -> None:
    """Refuse what the gate refuses; write what is kept in private, and commit it all in one step."""
    if done.gate is not None:
        done.gate.require(str(maker.series.root))
    crash_points.reach("gated")
    kept = with_margins(maker.series, draft, maker.margins, maker.keep(draft, done))
    crash_points.reach("private-written")
    maker.step(maker.steps[-1])
    promised = policy_record(maker.series.policy, maker.policy.promises)
    payload = done.as_dict() | kept | promised
    if not maker.options.hold_newcomers:  # else the same view has somebody new to publish
        payload[VIEW_DIGEST] = maker.view_digest
    del payload["folder"]
    maker.series.ledger.commit(draft, "release", payload, head)
