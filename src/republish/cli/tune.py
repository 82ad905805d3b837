"""`tune`: which publisher and which parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.options import gathered, option
from republish.cli.output import Json, counted, say, say_json, say_table
from republish.show.numbers import number
from republish.show.promises import spread_words

if TYPE_CHECKING:
    from republish.knowledge import Extracted, Knowledge
    from republish.tune import Point, SearchSettings, Tuned


@dataclass(frozen=True)
class TuneOptions:
    """The limit, what is tried on what, and where what was found goes."""

    max_gain: float | None = option(
        None, "Highest mean gain of an adversary who knows how values follow each other."
    )
    max_determined: float | None = option(None, "Highest share of people determined exactly.")
    publishers: str | None = option(None, "Names separated by commas. Without it: all that protect a series.")
    trials: int = option(60, "Trials in all, with those of earlier calls.")
    compromised: float | None = option(
        None, "Share of people whose values the adversary knows. Without it: that of the gate, or 0.04."
    )
    knowledge: Path | None = option(
        None, "Folder with knowledge.toml: what the adversary knows, and publishers assume."
    )
    sample: int | None = option(
        None, "Try on a sample of about so many rows of each view, the same people in all of them."
    )
    attack: str | None = option(
        None, "Attacks by commas; else beliefs,joint for the gain, tau,linear for determined."
    )
    max_counterfeits: float = option(0.25, "Most counterfeits, as a share of the rows.")
    seed: int = option(0, "The same seed tries the same points.")
    write: Path | None = option(None, "Write the chosen policy to this file, and beside it what it needs.")
    plot: Path | None = option(None, "Draw risk against usefulness, with the frontier, to this file.")

    @property
    def limits(self) -> dict[str, float]:
        from republish.errors import PolicyError

        given = {"max_gain": self.max_gain, "max_determined": self.max_determined}
        limits = {name: limit for name, limit in given.items() if limit is not None}
        if len(limits) != 1:
            raise PolicyError("give either --max-gain or --max-determined")
        return limits

    def settings(self, knowledge: Knowledge | Extracted | None) -> SearchSettings:
        from republish.tune import SearchSettings

        return SearchSettings(
            publishers=_names(self.publishers),
            trials=self.trials,
            compromised=self.compromised,
            knowledge=knowledge,
            sample=self.sample,
            max_counterfeits=self.max_counterfeits,
            attacks=_names(self.attack),
            seed=self.seed,
        )


@gathered
def tune(
    series: Annotated[
        Path, typer.Argument(help="Folder of the series to start from; nothing is published in it.")
    ],
    views: Annotated[list[Path], typer.Argument(help="Raw views to try on, oldest first.")],
    options: TuneOptions,
    as_json: Json = False,
) -> None:
    """Search publishers and parameters that keep risk below a limit at the least loss of usefulness.

    If it is stopped, the same command continues where it stopped.
    """
    from republish.knowledge import read_knowledge
    from republish.series import Series
    from republish.tune import chosen_policy, init_command, require_free, write_policy
    from republish.tune import tune as search
    from republish.tune.picture import plot_frontier, require_drawable

    limits, write, plot = options.limits, options.write, options.plot
    if write is not None:
        require_free(write)
    if plot is not None:
        require_drawable(plot)
    opened = Series.open(series)
    known = read_knowledge(options.knowledge, opened.schema) if options.knowledge else None
    with counted("tuning") as progress:
        tuned = search(opened, views, limits, options.settings(known), progress)
    if plot is not None:
        plot_frontier(tuned, plot)
    made = None
    if write is not None and tuned.best is not None:
        made = chosen_policy(opened, tuned.best, known)
        write_policy(made, write)
    if as_json:
        say_json(tuned.as_dict())
    else:
        _say(tuned)
        if plot is not None:
            say(f"drawn to {plot}")
        if made is not None and write is not None:
            say(f"policy written to {write}\nnext: {init_command(made, write)}")
        elif write is not None:
            say("no policy was written")
    raise typer.Exit(0 if tuned.best is not None else 1)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


def _say(tuned: Tuned) -> None:
    from republish.tune import LIMITS

    risk = LIMITS[next(iter(tuned.limits))]
    rows = []
    for place in tuned.frontier:
        point = tuned.points[place]
        within = "chosen" if place == tuned.chosen else "yes" if point.figures[1] <= tuned.limit else "no"
        rows.append((
            point.publisher, point.settings, point.figures[0], point.figures[1], point.suppressed or None,
            point.counterfeits or None, point.undecided or None, point.told_apart, within,
        ))  # fmt: skip
    columns = (
        "publisher", "settings", tuned.measure, risk, "suppressed", "counterfeits", "undecided", "distinguished",
        "within"
    )  # fmt: skip
    feasible = sum(point.feasible for point in tuned.points)
    if rows:
        say_table(columns, rows, title=_title(len(rows), feasible, tuned.trials))
    for name, (count, why) in tuned.infeasible.items():
        say(f"{name}: {number(count)} points cannot publish these views; {why.split(';')[0]}")
    best, near = tuned.best, tuned.nearest
    if best is not None:
        say(
            f"{risk} {best.figures[1]:.4f} is within the limit of {tuned.limit:g} at the least loss: "
            + _named(tuned, best)
        )
        _say_doubts(best)
    elif near is not None:
        say(
            f"nothing that was tried keeps the {risk} within {tuned.limit:g}; the nearest, {near.figures[1]:.4f}: "
            + _named(tuned, near)
        )
    else:
        say("no publisher could publish these views with any parameters that were tried")


def _title(shown: int, feasible: int, trials: int) -> str:
    """How many points are shown, of how many: those that another beats are not."""
    beaten = "" if shown == feasible else f" of {feasible}; the others are beaten in both loss and risk"
    return f"frontier: {shown} point{'' if shown == 1 else 's'}{beaten} ({trials} trials)"


def _say_doubts(point: Point) -> None:
    if point.undecided:
        say(
            f"note: of {point.undecided:.2%} more people it is not known whether they are determined; "
            "see docs/linear.md"
        )
    if point.told_apart:
        say(
            f"note: {point.told_apart:.0%} of a few pairs whose values were exchanged are distinguished by an "
            "adversary who knows the program; see docs/attacks-program.md"
        )
    if point.spread is not None and "j" in point.parameters:
        say(f"note: in the worst release {spread_words(point.spread, float(point.parameters['j']))}")
    if not point.protects_series:
        say(
            f"note: {point.publisher} promises nothing over the series; this was measured on these views alone"
        )


def _named(tuned: Tuned, point: Point) -> str:
    return f"{point.publisher} {point.settings}, {tuned.measure} {point.figures[0]:.4f}"
