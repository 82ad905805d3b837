"""`query`: how many people of a release match a condition, a table or a regression; it reads and never writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.options import Folder, gathered, option
from republish.cli.output import Json, say, say_json, say_table
from republish.show.numbers import number

if TYPE_CHECKING:
    from republish.queries import Count
    from republish.release.two_tables import AnyRelease
    from republish.series import Series

_METHODS = (
    "spread or em; regressions also auto, aggregate or inverse. docs/estimates.md says what each assumes."
)


@dataclass(frozen=True)
class EstimateOptions:
    """What is estimated in place of a count."""

    crosstab: str | None = option(None, "Instead: the table of this quasi-identifier by sensitive value.")
    bins: str | None = option(None, "With --crosstab: where bins begin, or categories: 30,45,60.")
    regress: str | None = option(
        None, 'Instead: a regression of the sensitive value, such as "income ~ age + gender".'
    )
    method: str | None = option(None, f"How a table or regression is estimated: {_METHODS}")


@gathered
def query(
    series: Folder,
    release: Annotated[int, typer.Argument(help="Number of a release.")],
    condition: Annotated[
        str,
        typer.Argument(help='What to count: "age between 40 and 50 and gender = \'F\'"; "" for everybody.'),
    ] = "",
    *,
    estimate: EstimateOptions,
    as_json: Json = False,
) -> None:
    """Estimate how many people of a release match a condition, with bounds that hold for certain."""
    from republish.errors import PolicyError
    from republish.series import Series

    crosstab, bins, regress, method = estimate.crosstab, estimate.bins, estimate.regress, estimate.method
    if sum(one is not None for one in (condition or None, crosstab, regress)) > 1:
        raise PolicyError("one question at a time: a condition, --crosstab or --regress")
    if (bins is not None and crosstab is None) or (
        method is not None and crosstab is None and regress is None
    ):
        raise PolicyError("--bins is for --crosstab, and --method for --crosstab and --regress")
    opened = Series.open(series).snapshot()
    asked: AnyRelease = opened.release(release)
    if crosstab is not None:
        edges = None if bins is None else [_edge(text.strip()) for text in bins.split(",")]
        _say_crosstab(opened, release, asked.crosstab(crosstab, edges, method=method or "spread"), as_json)
    elif regress is not None:
        _say_regression(opened, release, asked.regress(regress, method or "auto"), as_json)
    else:
        found = asked.count(condition, opened.record(release).payload["suppressed"])
        _say_count(opened, release, condition, found, as_json)
    if not as_json and release in opened.withdrawn():
        say(f"release {release} was withdrawn")


def _edge(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _about(series: Series, release: int) -> dict[str, Any]:
    return {"release": release, "withdrawn": release in series.withdrawn()}


def _say_count(series: Series, release: int, condition: str, found: Count, as_json: bool) -> None:
    if as_json:
        say_json({**_about(series, release), "condition": condition, **found.as_dict()})
        return
    about, error = (f"{x:,.1f}".removesuffix(".0") for x in (found.expected, found.standard_error))
    say(f"about {about} of {number(found.people)} people in release {release}, standard error {error}")
    say(f"at least {number(found.lower)}, at most {number(found.upper)}: bounds that hold for certain")
    if found.suppressed:
        say(
            f"{number(found.suppressed)} rows of the view were left out of the release and may match too: "
            f"at most {number(found.upper_in_view)} of the view"
        )
    if found.counterfeits and not series.policy.publisher.keeps_counts:
        say(f"{number(found.counterfeits)} counterfeit rows are not counted as people")
    for note in found.notes:
        say(f"note: {note}")


def _say_crosstab(series: Series, release: int, found: Any, as_json: bool) -> None:
    if as_json:
        say_json({**_about(series, release), **found.as_dict()})
        return
    lines = [(*line[:2], *(float(x) for x in line[2:4]), *line[4:]) for line in found.frame().rows()]
    names = (found.column, found.sensitive, "expected", "standard error", "at least", "at most")
    say_table(names, lines)
    say(f"Cramer's V {found.cramers_v:.3f}, mutual information {found.mutual_information:.4f} nats")


def _say_regression(series: Series, release: int, found: Any, as_json: bool) -> None:
    if as_json:
        say_json({**_about(series, release), **found.as_dict()})
        return
    say(
        f"{found.formula}, method {found.method}: {number(found.people)} people in {number(found.batches)} batches"
    )
    say_table(("", "coefficient", "standard error", "95 % from", "to"), found.frame().rows())
    for note in found.notes:
        say(f"note: {note}")
