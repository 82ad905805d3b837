"""What `publish --dry-run` shows of a release: published rows, margins, the change since the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from republish.cli.output import say, say_table
from republish.show.numbers import number, percent, points

if TYPE_CHECKING:
    from republish.publishing.preview import Preview
    from republish.series import Series

_TITLES = ("people, the first that would be published:", "values, the first lines that would be published:")


def say_preview(preview: Preview, series: Series) -> None:
    """Published rows, margins of the sensitive column, and the figures beside those of the last release."""
    titles = _TITLES if len(preview.tables) > 1 else ("the first rows that would be published:",)
    for title, table in zip(titles, preview.tables, strict=False):
        say(title)
        say_table(
            table.columns, [["" if cell is None else str(cell) for cell in row] for row in table.rows()]
        )
    if preview.margins:
        _say_margins(preview, series)
    if preview.change:
        rows = [
            (one.figure, *((percent if one.share else number)(side) for side in (one.before, one.now)))
            for one in preview.change
        ]
        last = len(series.records)
        say("beside the last release:")
        say_table(("figure", f"release {last}", f"release {last + 1}"), rows)


def _say_margins(preview: Preview, series: Series) -> None:
    """Raw shares count what the view holds, which is said with them."""
    assert series.schema.sensitive is not None
    name = series.schema.sensitive.name
    if preview.margins_agree:
        say(f"margins of {name}: every value has the same share in the release as in the raw view")
        return
    rows = [
        (one.value or "not published", percent(one.raw), percent(one.released), points(one.difference))
        for one in preview.margins
    ]
    say(f"margins of {name}, the largest difference first; raw shares are for the house, not for recipients:")
    say_table(("value", "raw view", "released", "points"), rows)
    if preview.unshown:
        say(f"  {number(preview.unshown)} values with smaller differences are not shown")
