"""Pages to look at: all series, one series, one release."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from republish.errors import RepublishError
from republish.show.promises import words_on_release
from republish.web import DeskError, NotFound, attack_charts, charts
from republish.web.downloads import sent
from republish.web.errors import sentence
from republish.web.pages.page import Page


class SeriesPages(Page):
    """Nothing is changed by these."""

    def home(self, request: Request) -> Response:
        broken, every = self.desk.broken(), self.desk.series()
        found = {one.name: attack_charts.strongest_of(one) for one in every}
        return self.page(request, "home.html", here="home", all=every, broken=broken, found=found)

    def series(self, request: Request) -> Response:
        found = self.desk.one(request.path_params["name"])
        serial, says = attack_charts.serial(found)
        return self.page(
            request,
            "series.html",
            s=found,
            serial=serial,
            serial_says=says,
            strongest=attack_charts.strongest_of(found),
            alone=charts.alone(found.releases),
            useful=charts.useful(found.releases, found.publisher["keeps_counts"]),
            notices=self.desk.notices(found.name),
            advice=self.desk.advice(found.name),
            no_gate=self.desk.no_gate(found.name),
        )

    def release(self, request: Request) -> Response:
        name, which = request.path_params["name"], request.path_params["number"]
        found = self.desk.one(name)
        release = next((one for one in found.releases if one.number == which), None)
        if release is None:
            raise NotFound(f"there is no release {which}; the series has {len(found.releases)}")
        drawn = self._picture(request)
        altered = self.desk.altered(name, which)
        files = [
            {"name": file, "what": what, "digest": release.files[file], "altered": file in altered}
            for known, what in charts.FILES.items()
            for file in release.files
            if file.partition("/")[0] == known
        ]
        return self.page(
            request,
            "release.html",
            s=found,
            r=release,
            files=files,
            measures=charts.measures(release.measures, found.publisher["keeps_counts"]),
            said=[
                sentence(one) for one in words_on_release(release.as_dict(), found.publisher["keeps_counts"])
            ],
            batches=self.desk.release_batches(name, which),
            **drawn,
        )

    def picture(self, request: Request) -> Response:
        """The picture of a release alone, for other axes."""
        found = self.desk.one(request.path_params["name"])
        release = {"number": request.path_params["number"]}
        return self.page(request, "picture.html", s=found, r=release, **self._picture(request))

    def _picture(self, request: Request) -> dict[str, Any]:
        name, which = request.path_params["name"], request.path_params["number"]
        x, y = request.query_params.get("x"), request.query_params.get("y")
        problem = None
        if x and x == y:  # chosen where it was not: the other axis shows another column
            columns = [c["name"] for c in self.desk.one(name).columns if c["role"] == "quasi-identifier"]
            y = next((column for column in columns if column != x), y)
        try:
            found = self.desk.release_picture(name, which, (x, y) if x and y else None)
        except DeskError:
            raise
        except RepublishError as error:
            found, problem = self.desk.release_picture(name, which), str(error)
        return {
            "picture": charts.picture(found),
            "picture_error": sentence(problem) if problem else None,
            "columns": found["columns"],
            "axes": (x, y) if problem else found["axes"],
            "sizes": charts.sizes(found["histogram"]),
        }

    def file(self, request: Request) -> Response:
        name, which = request.path_params["name"], request.path_params["number"]
        file, wanted = request.path_params["file"], request.query_params.get("withdrawn") == "yes"
        found = self.desk.file(name, which, file, wanted)
        return sent(found, f"{name}-{which:04d}-{file.rpartition('/')[2]}")

    def report(self, request: Request) -> Response:
        name = request.path_params["name"]
        kept = f"attachment; filename*=UTF-8''{quote(f'{name}-report.html')}"
        return HTMLResponse(self.desk.report(name), headers={"Content-Disposition": kept})

    def login(self, request: Request) -> Response:
        wrong = {"message": "That token is not right; the desk printed it when it was started."}
        error = wrong if "wrong" in request.query_params else None
        return self.page(request, "login.html", bare=True, error=error)
