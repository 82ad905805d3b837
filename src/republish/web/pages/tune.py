"""The map of what a search of parameters tried, and how a point of it becomes a series."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from republish.errors import RepublishError
from republish.show.numbers import spaced_percent
from republish.web import charts
from republish.web.pages.page import Page

if TYPE_CHECKING:
    from republish.series import Series
    from republish.tune.frontier import Point

_WRITTEN = Path("policy") / "series.toml"


class TunePages(Page):
    """Nothing is searched here, for that takes hours; it is done from the command line."""

    def tune(self, request: Request) -> Response:
        name = request.path_params["name"]
        found, searches = self.desk.one(name), self.desk.tuned(name)
        if not searches:
            return self.page(request, "tune.html", s=found, map=None)
        asked = request.query_params.get("search", "")
        search = int(asked) if asked.isdecimal() and int(asked) < len(searches) else len(searches) - 1
        document = searches[search]
        points = charts.searched(document)
        best = min(points["points"], key=lambda p: (not p["feasible"], p["penalty"])) if points else None
        limits = document.get("limits", {})
        said = (f"{key.replace('_', ' ')} {spaced_percent(value)}" for key, value in limits.items())
        return self.page(
            request,
            "tune.html",
            s=found,
            map=points,
            many=len(searches),
            search=search,
            made_at=document.get("made_at"),
            first=None if best is None or document.get("chosen") is not None else best["index"],
            limits=", ".join(said) or "none",
            written=self._written(name, document, [one["index"] for one in points["points"]])
            if points
            else {},
        )

    def _written(
        self, name: str, document: Mapping[str, Any], drawn: Iterable[int]
    ) -> dict[int, dict[str, Any]]:
        """What must be known of each point that is drawn, and the commands that make a series of it."""
        from republish.tune.frontier import Point, frontier

        points = [Point.from_dict(one) for one in document["points"]]
        front, limit = set(frontier(points)), next(iter(document.get("limits", {})), None)
        protects = {one["name"]: one["protects_series"] for one in self.desk.publishers()}
        found = {}
        with self.desk.opened(name) as series:
            for place in drawn:
                point = points[place]
                best = place in front and limit is not None
                option = f"--{str(limit).replace('_', '-')}"
                found[place] = {
                    "protects": point.protects_series and protects.get(point.publisher, True),
                    "undecided": point.undecided,
                    "told_apart": point.told_apart,
                    "write": f"{option} {point.risk!r} --write {_WRITTEN}" if best else None,
                    "tune": shlex.join(["republish", "tune", str(series.root)]),
                    "init": _init(series, point, document) if best else None,
                }
        return found


def _init(series: Series, point: Point, document: Mapping[str, Any]) -> str | None:
    """The command that makes a series of what `--write` has written; `None` where only that can tell."""
    from republish.publishers import PUBLISHERS
    from republish.tune import chosen_policy, init_command

    if point.publisher not in PUBLISHERS:
        return None
    reckons = PUBLISHERS[point.publisher].uses_knowledge
    if reckons and series.policy.knowledge is None and document.get("adversary", {}).get("knowledge"):
        return None  # the search was given knowledge that the series does not have
    try:
        return init_command(chosen_policy(series, point), _WRITTEN)
    except RepublishError:
        return None
