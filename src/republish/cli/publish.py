"""`publish`, `withdraw` and `forget`: what changes a series."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.engine_options import EngineOptions, engine_of
from republish.cli.options import Folder, gathered, option
from republish.cli.output import SayingOptions, say, say_aside, say_json, steps
from republish.cli.preview import say_preview
from republish.show.numbers import number
from republish.show.promises import (
    bounds_in,
    extended_words,
    words_on_correction,
    words_on_release,
    words_on_retired,
)

if TYPE_CHECKING:
    from republish.gate.verdict import Verdict
    from republish.publishing.result import Published
    from republish.series import Series


@dataclass(frozen=True)
class WritingOptions(SayingOptions):
    """How a command speaks that writes to a series, and how long it waits for others who do."""

    wait: float = option(
        0.0, "How long to wait while another process writes to the series.", min=0, metavar="SECONDS"
    )

    def open(self, folder: Path) -> Series:
        """The series; whoever watches is told for whom the command waits."""
        from republish.ledger.lock import Patience
        from republish.series import Series

        return Series.open(folder, Patience(self.wait, say_aside))


@contextmanager
def telling(series: Series) -> Iterator[None]:
    """Say after a command, also one that was refused, that files of an earlier version were written anew."""
    from republish.publishing.migration import note_since

    known = len(series.ledger.entries())
    try:
        yield
    finally:
        note = note_since(series, known)
        if note is not None:
            say_aside(f"note: {note}")


@dataclass(frozen=True)
class PublishOptions:
    """When the release is as of, what outsiders know, and where it goes besides."""

    as_of: str | None = option(None, "Date of the release, later than that of the last one. Without it: now.")
    compromised: Path | None = option(
        None, "Table of what an adversary knows of single people: identifier, value, p."
    )
    theta: Path | None = option(
        None,
        "Table of the values that people of the view may have: identifier, value (cor-split, theta=people).",
    )
    truth: Path | None = option(
        None, "Folder of the raw views of all earlier releases, for linkage and presence in the gate."
    )
    corrects: int | None = option(
        None, "Number of the last release: it is withdrawn, and this one takes its place."
    )
    hold_newcomers: bool = option(
        False, "Let people who were in no release before wait for a later one.", "--hold-newcomers"
    )
    into: str | None = option(
        None, "Write the release into this PostgreSQL database too, once it is committed."
    )


@dataclass(frozen=True)
class MeantOptions:
    """What is meant of a view that would be refused as a mistake."""

    new_people: bool = option(
        False, "Publish although almost nobody in the view is recognised.", "--new-people"
    )
    fewer_rows: bool = option(
        False, "Publish although the view is empty or a small part of the last.", "--fewer-rows"
    )
    same_view: bool = option(False, "Publish although the view is that of the last release.", "--same-view")
    expect_anyway: str | None = option(
        None,
        "Publish although the view differs from the last by more than expected (docs/weekly-checks.md); "
        "the reason is recorded.",
        "--expect-anyway",
    )

    def names(self) -> list[str]:
        """What is meant, as `Series.publish` takes it."""
        from republish.publishing.plausibility import FEWER_ROWS, NEW_PEOPLE, SAME_VIEW

        said = ((NEW_PEOPLE, self.new_people), (FEWER_ROWS, self.fewer_rows), (SAME_VIEW, self.same_view))
        return [name for name, meant in said if meant]


@gathered
def publish(
    series: Folder,
    view: Annotated[
        str,
        typer.Argument(
            help="The raw view: a CSV or Parquet file, or postgresql://host/db/table, or ...db?query=SELECT ..."
        ),
    ],
    options: PublishOptions,
    engine: EngineOptions,
    meant: MeantOptions,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Do everything but commit.")] = False,
    *,
    how: WritingOptions,
) -> None:
    """Publish one view: group, verify, pass the gate, commit. If anything fails the series stays as it was."""
    from republish.cli.arguments import truth_views
    from republish.cli.export import export_published, require_target
    from republish.publishing.maker import STEPS
    from republish.sources.postgres import is_database

    opened, into = how.open(series), options.into
    truth = truth_views(options.truth, len(opened.records)) if options.truth else ()
    if into is not None:
        require_target(into)  # before anything is published
    shown = "a view from a database" if is_database(view) else Path(view).name
    with (
        engine_of(engine) as where,
        steps(f"publishing {shown}", STEPS if where is None else where.steps) as step,
        telling(opened),
    ):
        said = meant.names()
        done = opened.publish(
            view,
            options.as_of,
            dry_run,
            step,
            options.compromised,
            where,
            said,
            truth,
            corrects=options.corrects,
            expect_anyway=meant.expect_anyway,
            hold_newcomers=options.hold_newcomers,
            theta=options.theta,
        )
    written, failure = export_published(opened, done.number, into) if into and done.folder else (None, None)
    if not how.as_json:
        _say_published(done, opened, dry_run, options.hold_newcomers)
        if written is not None:
            say(f"  table: {written.table}, {number(written.rows)} rows")
    if failure is not None:
        raise failure
    if how.as_json:
        say_json(done.as_dict() | ({} if written is None else {"exported": written.as_dict()}))
    raise typer.Exit(1 if done.gate is not None and not done.gate.passed else 0)


_TOO_FEW = "they are too few, or may not share a set of values that a new value could hide in (newcomers)"


def _say_published(done: Published, series: Series, dry_run: bool, held: bool) -> None:
    from republish.publishing.limits import takes_returns_for_new

    say(f"release {done.number} as of {done.as_of}" + (" (dry run, nothing was written)" if dry_run else ""))
    say_size(done, series.policy.publisher.keeps_counts)
    people = done.arrivals
    say(
        f"  {number(people.new)} new, {number(people.returned)} returned, {number(people.left)} left; "
        f"{number(people.changed_value)} with a changed value, "
        f"{number(people.changed_quasi_identifiers)} with changed quasi-identifiers"
    )
    kept = series.policy.publisher.keeps_counts
    if done.waiting:
        why = "they are new, and held" if held else _TOO_FEW
        say(f"  {number(done.waiting)} people wait for a later release: {why}")
    if done.suppressed > 0.05 * done.rows and not words_on_retired(done.as_dict()):
        left_out = "the rows are left out" if done.two_tables is None else "the people are in no batch"
        left_out = "the people are not counted yet" if kept else left_out
        say(
            f"  note: {done.suppressed / done.rows:.0%} of {left_out}; looser parameters or a larger view would "
            "publish more"
        )
    for sentence in words_on_release(done.as_dict(), kept):
        say(f"  {sentence}")
    say("  verified: " + ", ".join(check.promise for check in done.verification.checks))
    for sentence in bounds_in(done.verification.as_dict()["checks"]) if kept else ():
        say(f"  bound: {sentence}")
    if done.gate is not None:
        _say_gate(done.gate)
    if done.corrects is not None:
        for sentence in words_on_correction(done.corrects.as_dict(), kept):
            say(f"  {sentence}")
    if done.remedy:
        say(f"    {done.remedy}")
    publisher = series.policy.publisher
    if not publisher.series_promises:
        say(f"  note: {publisher.name} protects this release alone, not the series")
    if people.returned and takes_returns_for_new(publisher.series_promises):
        say(
            f"  note: {number(people.returned)} people came back after an absence. {publisher.name} takes them for "
            "newcomers and does not protect them from comparing their groups before and after it; tau-safety does"
        )
    if done.folder:
        say(f"  files: {done.folder}")
    if done.preview is not None:
        say_preview(done.preview, series)


def say_size(done: Published, keeps_counts: bool = False) -> None:
    """How much was published, in one table or in two; and where batches keep counts, whom they count as before."""
    found, penalty = done.two_tables, f"certainty penalty {done.measures.penalty:.4f}"
    if found is None:
        say(
            f"  {number(done.rows)} rows in {number(done.groups)} groups, {number(done.suppressed)} suppressed, "
            f"{number(done.counterfeits)} counterfeit; {penalty}"
        )
        return
    say(f"  people: {number(done.rows)} in {number(done.groups)} groups that look alike; {penalty}")
    outside = f"{number(found.without_batch)} people without a batch"
    if keeps_counts:
        waiting = number(done.suppressed - found.without_batch)
        say(f"  values: {found.sentence()}; {number(done.counterfeits)} held, {waiting} waiting, {outside}")
    else:
        say(f"  values: {found.sentence()}; {number(done.counterfeits)} counterfeit, {outside}")
    if found.extended:
        say(f"  note: {extended_words(found.extended)}")


def _say_gate(verdict: Verdict) -> None:
    """The figures that limits are about, the worst draw of each attack, whom it gave up on, and what is broken."""
    from republish.gate.verdict import used

    say(f"  gate: {'passed' if verdict.passed else 'NOT passed, this release would be refused'}")
    unclear = verdict.undecided()
    worst_first = sorted(
        verdict.worst().items(),
        key=lambda one: (
            -max((used(figure, verdict.limits[name]) for name, figure in one[1].items()), default=0.0)
        ),
    )
    for attack, figures in worst_first:
        more = unclear[attack].undecided if attack in unclear else 0
        found = ", ".join(
            f"{name} {value:.4f} of {verdict.limits[name]:g}"
            + (f" and {number(more)} more people undecided" if more and name == "max_determined" else "")
            for name, value in figures.items()
        )
        say(f"    {attack}: {found}")
    for note in verdict.notes:
        say(f"    note: {note}")
    for breach in verdict.breaches:
        say(f"    broken: {breach.sentence()}", wrong=True)


@gathered
def withdraw(
    series: Folder,
    release: Annotated[int, typer.Argument(help="Number of the release.")],
    reason: Annotated[str, typer.Option(help="Why, for the record; no names.")] = "",
    *,
    how: WritingOptions,
) -> None:
    """Mark a release as withdrawn. It still counts, since others may have it."""
    from republish.publishing import maintenance

    opened = how.open(series)
    with telling(opened):
        maintenance.withdraw(opened, release, reason)
    if how.as_json:
        say_json({"release": release, "reason": reason})
        return
    say(
        f"release {release} is marked withdrawn; the series goes on counting with it, since others may have it"
    )


@gathered
def forget(
    series: Folder,
    ids: Annotated[
        Path, typer.Option(help="CSV or Parquet file with the identifiers of the people to erase.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    *,
    how: WritingOptions,
) -> None:
    """Erase people from the memory of the series."""
    from republish.publishing import maintenance

    opened = how.open(series)
    if not yes:
        say(maintenance.CONSEQUENCE)
        typer.confirm("Erase them?", abort=True)
    with telling(opened):
        done = maintenance.forget(opened, ids)
    if how.as_json:
        say_json(asdict(done))
        return
    say(
        f"{number(done.erased)} of {number(done.asked)} people erased from the memory and from {done.releases} releases"
    )
    if done.erased < done.asked:
        say(f"{number(done.asked - done.erased)} of the list are not remembered by this series")
    say(done.consequence)
