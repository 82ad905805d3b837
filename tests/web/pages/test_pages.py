"""Pages as the server makes them, without a browser: what they say, and that they say nothing of anybody."""

from __future__ import annotations

import gzip
import html
import json
import re
import shlex
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import republish as rp
import republish.errors
from desk_client import TestClient
from lasting import lasting_workers
from republish.attacks import Adversary, Summary
from republish.attacks.assessments import assess, keep
from republish.cli import app as cli
from republish.gate.verdict import AttackFigures, Verdict
from republish.show.numbers import spaced_percent
from republish.tune import chosen_policy, write_policy
from republish.tune.frontier import Point
from republish.tune.situation import QUESTIONS
from republish.web import charts
from republish.web.app import create_app
from republish.web.desk import _NAME as NAME
from republish.web.desk import Desk
from republish.web.jobs.jobs import Job
from republish.web.pages.page import said

STATIC = Path(rp.__file__).parent / "web" / "static"
TEMPLATES = STATIC.parent / "templates"
VALUES = ["flu", "asthma", "cancer", "gastritis", "angina", "migraine"]
PAGES = ("", "/r/1", "/publish", "/attack", "/tune", "/change")
SEARCH = {
    "made_at": "2026-01-02T03:04:05+00:00",
    "limits": {"max_determined": 0.01},
    "points": [
        {"publisher": "tau-safety", "parameters": {"m": 3}, "penalty": 0.3, "risk": 0.2, "feasible": True},
        {"publisher": "cohorts", "parameters": {"m": 6}, "penalty": 0.5, "risk": 0.0, "feasible": True},
        {"publisher": "cor-split", "parameters": {}, "penalty": None, "risk": None, "feasible": False},
    ],
    "chosen": 1,
}

COMMITTED = {"committed": True, "release": 2}


def view(first: int, rows: int = 60) -> pl.DataFrame:
    people = range(first, first + rows)
    return pl.DataFrame(
        {
            "patient": [f"person-{i:03d}" for i in people],
            "age": [20 + i * 7 % 60 for i in people],
            "weight": [50 + i * 11 % 40 for i in people],
            "diagnosis": [VALUES[i % 6] for i in people],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two series: one with two releases, a gate, an assessment and a search; one that is empty."""
    folder = tmp_path_factory.mktemp("desk")
    schema = rp.Schema(
        identifier="patient",
        quasi_identifiers=[rp.Number("age"), rp.Number("weight")],
        sensitive="diagnosis",
    )
    visits = rp.Series.create(folder / "visits", schema, rp.TauSafety(m=3), gate=rp.Gate(max_determined=0.5))
    visits.publish(view(0))
    visits.publish(view(6))
    keep(visits, assess(visits, Adversary(compromised=0.04), ["tau", "linear"]))
    (visits.root / "private" / "tune").mkdir()
    (visits.root / "private" / "tune" / "1.json").write_text(json.dumps(SEARCH), encoding="utf-8")
    visits.ledger.close()
    rp.Series.create(folder / "new-one", schema, rp.Mondrian(k=5)).ledger.close()
    return folder


@pytest.fixture(scope="module")
def client(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Somebody who is logged in."""
    kept = tmp_path_factory.mktemp("uploads")
    app = create_app([folder], token="a-token", upload_limit=50_000, uploads_in=kept)
    logged_in = TestClient(app, base_url="http://127.0.0.1", headers={"Accept": "text/html"})
    with lasting_workers(), logged_in as client:
        assert client.get("/?token=a-token").status_code == 200
        yield client


def csrf(client: TestClient) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', client.get("/new").text)
    assert found
    return found[1]


def post(client: TestClient, path: str, text: str | None = None, **fields: object) -> object:
    files = None if text is None else {"file": ("view.csv", text.encode(), "text/csv")}
    return client.post(path, data=fields, files=files, headers={"X-CSRF-Token": csrf(client)})


def test_the_first_page_lists_every_series(client: TestClient) -> None:
    page = client.get("/").text
    assert 'href="/s/visits"' in page
    assert 'href="/s/new-one"' in page
    assert "each release alone" in page


@pytest.mark.parametrize("path", ["/", "/new", "/login", *(f"/s/visits{end}" for end in PAGES), "/s/new-one"])
def test_no_page_holds_a_value_or_an_identifier(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert "person-" not in answer.text
    assert not [value for value in VALUES if value in answer.text]


class Found(HTMLParser):
    """What a page must not have, and fields without a label."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.labelled: set[str] = set()
        self.fields: dict[str, bool] = {}
        self.headers = self.tables = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.wrong += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (
            tag == "script" and "src" not in given and given.get("type") != "application/json"
        ):
            self.wrong.append(tag)
        for name in ("src", "href", "action"):
            if (given.get(name) or "/").startswith(("http:", "https:", "//", "data:")):
                self.wrong.append(f"{tag} {name}")
        if tag == "label":
            self.labelled.add(given.get("for") or "")
        if tag in ("input", "select") and given.get("type") != "hidden":
            self.fields[given.get("id") or ""] = "aria-label" in given
        self.tables += tag == "table"
        self.headers += tag == "th" and given.get("scope") == "col"


@pytest.mark.parametrize("path", ["/", "/new", "/login", *(f"/s/visits{end}" for end in PAGES), "/s/new-one"])
def test_a_page_needs_no_inline_code_no_network_and_labels_every_field(client: TestClient, path: str) -> None:
    found = Found()
    found.feed(client.get(path).text)
    assert found.wrong == []
    assert [name for name, named in found.fields.items() if not named and name not in found.labelled] == []
    assert found.headers >= found.tables


def test_one_series_shows_risk_usefulness_gate_and_timeline(client: TestClient) -> None:
    page = client.get("/s/visits").text
    for heading in ("Risk over time", "Usefulness over time", "Timeline of releases", "gate: passed"):
        assert heading in page
    drawn = json.loads(re.search(r'id="useful-data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert drawn["x"] == [1, 2]
    assert [one["name"] for one in drawn["series"]] == ["blur", "left out", "counterfeits"]
    assert page.count("The same as a table") == 5
    assert "Strongest attack measured:" in page
    assert "People by how sure it is of their true value" in page
    assert "worst person after it" in page


def test_a_release_has_a_picture_over_any_two_columns(client: TestClient) -> None:
    page = client.get("/s/visits/r/2/picture?x=weight&y=age").text
    drawn = json.loads(re.search(r'id="boxes-data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert (drawn["xname"], drawn["yname"]) == ("weight", "age")
    assert sum(box[4] for box in drawn["boxes"]) == pytest.approx(60, abs=12)


def test_a_picture_over_one_column_twice_takes_another_for_the_second(client: TestClient) -> None:
    page = client.get("/s/visits/r/2/picture?x=weight&y=weight").text
    assert "a group over weight and age" in page


def test_a_picture_over_a_column_that_is_not_there_says_what_is_needed(client: TestClient) -> None:
    answer = client.get("/s/visits/r/2?x=age&y=height")
    assert answer.status_code == 200
    assert "two different quasi-identifiers" in answer.text


def test_release_and_report_are_downloads(client: TestClient, folder: Path) -> None:
    table = client.get("/s/visits/r/1/files/table.csv")
    assert table.content == (folder / "visits" / "releases" / "0001" / "table.csv").read_bytes()
    assert table.headers["content-disposition"].startswith("attachment")
    report = client.get("/s/visits/report")
    assert report.headers["content-disposition"].startswith("attachment")
    assert "person-" not in report.text


@pytest.mark.parametrize(
    "path",
    ["/s/none", "/s/visits/r/9", "/s/visits/r/1/files/secret.key", "/s/visits/jobs/none", "/new/none"],
)
def test_what_is_not_there_is_a_page_that_says_so(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "<h1>" in answer.text


def test_a_view_that_fits_goes_on_to_a_trial_run(client: TestClient) -> None:
    answer = post(client, "/s/visits/publish", view(9).write_csv())
    assert "Start the trial run" in answer.text  # type: ignore[attr-defined]


def test_a_view_without_a_column_is_told_which(client: TestClient) -> None:
    answer = post(client, "/s/visits/publish", view(9).drop("weight").write_csv())
    assert "does not fit" in answer.text  # type: ignore[attr-defined]
    assert "Start the trial run" not in answer.text  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text, status, words",
    [("%PDF-1.7", 415, "This is not a table"), ("", 400, "empty"), ("a,b\n" * 20_000, 413, "too large")],
)
def test_a_wrong_file_is_refused_in_words(client: TestClient, text: str, status: int, words: str) -> None:
    answer = post(client, "/s/visits/publish", text)
    assert answer.status_code == status  # type: ignore[attr-defined]
    assert words in answer.text  # type: ignore[attr-defined]


def test_a_form_without_the_token_changes_nothing(client: TestClient, folder: Path) -> None:
    assert client.post("/s/visits/attack", data={"compromised": "4"}).status_code == 403


def test_an_attack_with_a_share_that_is_none_keeps_what_was_typed(client: TestClient) -> None:
    answer = post(client, "/s/visits/attack", compromised="many", which="all")
    assert answer.status_code == 400  # type: ignore[attr-defined]
    assert 'value="many"' in answer.text  # type: ignore[attr-defined]


def test_roles_are_proposed_and_a_wrong_choice_is_explained(client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv())
    upload = page.url.path  # type: ignore[attr-defined]
    assert "identifier: names a person" in page.text  # type: ignore[attr-defined]
    fields = {
        "name": "visits",
        "publisher": "tau-safety",
        "tau-safety.m": "3",
        "column": ["patient", "age", "weight", "diagnosis"],
        "role": ["identifier", "quasi-identifier", "quasi-identifier", "sensitive"],
        "kind": ["category", "number", "number", "category"],
    }
    again = client.post(upload, data=fields, headers={"X-CSRF-Token": csrf(client)})
    assert again.status_code == 409
    assert "choose another name" in again.text


def test_a_series_whose_degree_the_limits_choose_is_made(folder: Path, client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv())
    assert 'id="p-cor-split-L" name="cor-split.L" value=""' in page.text  # type: ignore[attr-defined]
    fields = {
        "name": "at most so often",
        "publisher": "cor-split",
        "cor-split.m": "3",
        "cor-split.n": "",
        "cor-split.p": ".04",
        "cor-split.L": "6",
        "cor-split.h": "",
        "column": ["patient", "age", "weight", "diagnosis"],
        "role": ["identifier", "quasi-identifier", "quasi-identifier", "sensitive"],
        "kind": ["category", "number", "number", "category"],
    }
    again = client.post(page.url.path, data=fields, headers={"X-CSRF-Token": csrf(client)})  # type: ignore[attr-defined]
    assert "p, L and h must be given together" in again.text
    assert 'name="cor-split.L" value="6"' in again.text
    post(client, page.url.path, **fields | {"cor-split.h": ".1"})  # type: ignore[attr-defined]
    series = rp.Series.open(folder / "at most so often")
    assert series.policy.publisher == rp.CorSplit(3, 2, p=0.04, L=6, h=0.1)
    series.ledger.close()


AS_RECOMMENDED: dict[str, object] = {
    "publisher": "recommended",
    "tables": "as-usual",
    "people_k": "5",
    "column": ["patient", "age", "weight", "diagnosis"],
    "role": ["identifier", "quasi-identifier", "quasi-identifier", "sensitive"],
    "kind": ["category", "number", "number", "category"],
}
"""What a person sends who takes what is proposed."""


def test_what_is_recommended_is_chosen_unless_something_else_is_and_says_why(
    folder: Path, client: TestClient
) -> None:
    page = post(client, "/new", view(0).write_csv())
    assert re.search(r'id="m-recommended"[^>]*checked', page.text)  # type: ignore[attr-defined]
    fields = AS_RECOMMENDED | {"name": "as recommended"}
    done = post(client, page.url.path, **fields)  # type: ignore[attr-defined]
    assert "Why this method, and what it costs" in done.text  # type: ignore[attr-defined]
    assert "simulated" in done.text  # type: ignore[attr-defined]
    assert "What each would give away" in done.text  # type: ignore[attr-defined]
    series = rp.Series.open(folder / "as recommended")
    assert (series.policy.publisher.name, series.policy.form) == ("value-blind", rp.TwoTables(5))
    series.ledger.close()
    assert "Not promised:" in client.get("/s/as%20recommended").text


def test_files_that_followed_are_tried_too_and_erased(client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv())
    fields = AS_RECOMMENDED | {"name": "with more"}
    more = [("further", (f"week{week}.csv", view(week).write_csv().encode(), "text/csv")) for week in (2, 1)]
    kept = desk_of(client).uploads.folder
    held = len(list(kept.iterdir()))
    done = client.post(page.url.path, data=fields, files=more, headers={"X-CSRF-Token": csrf(client)})  # type: ignore[attr-defined]
    assert done.status_code == 200 and "of which 9 were simulated" in done.text
    assert len(list(kept.iterdir())) == held
    desk_of(client).uploads.remove(page.url.path.rpartition("/")[2])  # type: ignore[attr-defined]


def test_what_can_be_read_in_two_ways_is_asked_in_the_row_of_its_column(
    folder: Path, client: TestClient
) -> None:
    lines = [
        f"p{i},{999 if i % 9 == 0 else 20 + i % 50},0{i % 9 + 1}/0{i % 7 + 1}/2001,{'abcd'[i % 4]}"
        for i in range(60)
    ]
    page = post(client, "/new", "\n".join(["patient,age,born,diagnosis", *lines]))
    assert "DD/MM/YYYY" in page.text and "999 means missing" in page.text  # type: ignore[attr-defined]
    fields = AS_RECOMMENDED | {
        "name": "two ways",
        "publisher": "mondrian",
        "one_table": "yes",
        "column": ["patient", "age", "born", "diagnosis"],
        "kind": ["category", "number", "date", "category"],
    }
    address = page.url.path  # type: ignore[attr-defined]
    unanswered = post(client, address, **fields).text  # type: ignore[attr-defined]
    assert "Choose it in the row of the column" in unanswered and "--read" not in unanswered
    answers = {"form.born": "MM/DD/YYYY", "missing.age": "999"}
    assert post(client, address, **fields, **answers).status_code == 200  # type: ignore[attr-defined]
    desk_of(client).uploads.remove(address.rpartition("/")[2])
    files = rp.Series.open(folder / "two ways").schema.files
    assert files.dates == "MM/DD/YYYY" and files.missing_in("age") == ("999",)


def test_the_page_asks_the_questions_of_the_command(client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv()).text  # type: ignore[attr-defined]
    for one in QUESTIONS:
        assert f"<legend>{one.text}</legend>" in page
    assert re.search(r'id="a-again-as-files"[^>]*checked', page) and re.search(
        r'id="a-one_table-no"[^>]*checked', page
    )


def test_what_is_published_once_follows_from_an_answer(folder: Path, client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv())
    fields = AS_RECOMMENDED | {"name": "once", "answer.again": "no"}
    post(client, page.url.path, **fields)  # type: ignore[attr-defined]
    series = rp.Series.open(folder / "once")
    assert series.policy.publisher.name == "mondrian"
    series.ledger.close()


def test_the_map_of_parameters_shows_the_settings_of_every_point(client: TestClient) -> None:
    page = client.get("/s/visits/tune").text
    assert page.count("data-point=") == 2  # one could not publish
    assert 'data-point="1"' in page
    assert "above a limit" in page


def test_the_first_page_with_charts_is_below_400_kb(client: TestClient) -> None:
    files = ("desk.css", "desk.js", "htmx.min.js", "echarts.custom.min.js", "icon.svg")
    sent = sum(len(gzip.compress((STATIC / file).read_bytes(), 6)) for file in files)
    assert sent + len(client.get("/s/visits").content) < 400_000


def test_every_word_that_is_explained_in_a_template_exists() -> None:
    words = set(re.findall(r'^  "(\w+)": \(', (TEMPLATES / "macros.html").read_text(), re.M))
    used = {
        word for file in TEMPLATES.glob("*.html") for word in re.findall(r'term\("(\w+)"\)', file.read_text())
    }
    assert used
    assert used <= words


@pytest.mark.parametrize(
    "share, text", [(0.0, "0\xa0%"), (0.333, "33.3\xa0%"), (0.0004, "0.04\xa0%"), (None, "not known")]
)
def test_shares_are_written_in_percent(share: float | None, text: str) -> None:
    assert spaced_percent(share) == text


def test_many_sizes_are_put_into_ranges_and_none_is_lost() -> None:
    histogram = [[size, 1] for size in range(5, 205)]
    found = charts.sizes(histogram)
    assert found is not None
    assert len(found["x"]) <= 41
    assert sum(found["values"]) == 200


def test_the_worst_draw_of_the_gate_counts() -> None:
    found = [
        AttackFigures("linear", Summary(10, 0, share, 0.0, 0.0, 0.0, 0.0, None)) for share in (0.1, 0.3, 0.2)
    ]
    (one,) = charts.verdicts(Verdict({"max_determined": 0.25}, tuple(found)).as_dict())
    assert (one["found"], one["holds"]) == (0.3, False)


def test_a_method_for_each_release_alone_must_be_accepted_for_several(
    folder: Path, client: TestClient
) -> None:
    """What is ticked is in the policy, and what is not is not."""
    for name, accepted in (("alone-once", {}), ("alone-often", {"one_table": "yes"})):
        page = post(client, "/new", view(0).write_csv())
        fields = {
            "name": name,
            "publisher": "mondrian",
            "column": ["patient", "age", "weight", "diagnosis"],
            "role": ["identifier", "quasi-identifier", "quasi-identifier", "sensitive"],
            "kind": ["category", "number", "number", "category"],
        }
        done = post(client, page.url.path, **fields, **accepted)  # type: ignore[attr-defined]
        assert done.status_code == 200, done.text  # type: ignore[attr-defined]
        series = rp.Series.open(folder / name)
        assert series.policy.one_table == bool(accepted)
        series.ledger.close()


# What is confirmed, and when --------------------------------------------------------------------------


def desk_of(client: TestClient) -> Desk:
    return client.app.state.desk  # type: ignore[attr-defined, no-any-return]


@pytest.fixture
def fresh(folder: Path, request: pytest.FixtureRequest) -> str:
    """The name of a series with one release as of the beginning of 2026 that no other test has."""
    name = "f-" + re.sub(r"\W+", "-", request.node.name)[-40:].strip("-")
    with_schema = rp.Series.open(folder / "visits")
    series = rp.Series.create(folder / name, with_schema.schema, rp.TauSafety(m=3))
    series.publish(view(0), as_of="2026-01-01")
    series.ledger.close()
    with_schema.ledger.close()
    return name


def uploaded(client: TestClient, name: str) -> str:
    """The address of an upload that waits for a trial run."""
    return str(post(client, f"/s/{name}/publish", view(9).write_csv()).url.path)  # type: ignore[attr-defined]


def ended(client: TestClient, address: str) -> str:
    """The page of a job when it has ended."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        page = client.get(address).text
        if "<progress" not in page:
            return page
        time.sleep(0.05)
    raise AssertionError("the job does not end")


def hidden(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(head|trial)" value="([^"]*)">', page))


def tried(client: TestClient, address: str, **fields: str) -> dict[str, str]:
    """What the form holds that confirms a trial run."""
    started = post(client, f"{address}/dry-run", **fields)
    return hidden(ended(client, started.url.path))  # type: ignore[attr-defined]


def test_a_confirmed_release_is_the_one_of_the_trial_run(client: TestClient, fresh: str) -> None:
    address = uploaded(client, fresh)
    form = tried(client, address, as_of="2026-01-08")
    assert form["head"] == desk_of(client).one(fresh).head
    done = post(client, f"{address}/confirm", **form)
    assert "is published" in ended(client, done.url.path)  # type: ignore[attr-defined]
    assert [one.as_of for one in desk_of(client).one(fresh).releases] == ["2026-01-01", "2026-01-08"]


def test_without_a_trial_run_nothing_is_published(client: TestClient, fresh: str) -> None:
    address, other = uploaded(client, fresh), uploaded(client, fresh)
    form = tried(client, other)
    for wrong in ({}, {"head": "x" * 64, "trial": "none"}, form, {**form, "head": ""}):
        answer = post(client, f"{address}/confirm", **wrong)
        assert answer.status_code == 409  # type: ignore[attr-defined]
        assert "Make a trial run first" in answer.text  # type: ignore[attr-defined]
        assert "Start the trial run" in answer.text  # type: ignore[attr-defined]
    assert len(desk_of(client).one(fresh).releases) == 1


def test_a_trial_run_of_an_older_state_must_be_made_again(
    client: TestClient, folder: Path, fresh: str
) -> None:
    address = uploaded(client, fresh)
    form = tried(client, address)
    series = rp.Series.open(folder / fresh)
    series.publish(view(3), as_of="2026-01-05")
    series.ledger.close()
    answer = post(client, f"{address}/confirm", **form)
    assert answer.status_code == 409  # type: ignore[attr-defined]
    assert "Make another trial run" in answer.text  # type: ignore[attr-defined]
    assert len(desk_of(client).one(fresh).releases) == 2
    done = post(client, f"{address}/confirm", **tried(client, address))
    assert "Release 3 is published" in ended(client, done.url.path)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "as_of, words",
    [
        ("2026-01-01", "later than that of the last release, which is as of 1 Jan 2026"),
        ("2999-01-01", "lies in the future"),
        ("soon", "The date must be a date"),
    ],
)
def test_a_wrong_date_is_explained_before_the_trial_run_and_the_file_is_kept(
    client: TestClient, fresh: str, as_of: str, words: str
) -> None:
    address = uploaded(client, fresh)
    answer = post(client, f"{address}/dry-run", as_of=as_of)
    assert answer.status_code == 400  # type: ignore[attr-defined]
    assert words in answer.text  # type: ignore[attr-defined]
    assert "--as-of" not in answer.text  # type: ignore[attr-defined]
    assert f'value="{as_of}"' in answer.text  # type: ignore[attr-defined]
    assert client.get(address).status_code == 200


def test_the_day_of_the_last_release_is_said_to_be_too_early(client: TestClient) -> None:
    page = client.get(uploaded(client, "visits")).text  # its last release is as of just now
    assert "today is not later, so leave it empty" in page


def test_a_file_in_another_encoding_is_told_without_words_of_the_command_line(client: TestClient) -> None:
    text = view(9).write_csv().replace("flu", "grippe-é").encode("latin-1")
    files = {"file": ("view.csv", text, "text/csv")}
    answer = client.post("/s/visits/publish", files=files, headers={"X-CSRF-Token": csrf(client)})
    assert "CSV UTF-8" in answer.text
    assert "iconv" not in answer.text


def test_what_is_wrong_with_a_gate_is_said_as_the_form_asks_it() -> None:
    with pytest.raises(rp.errors.RepublishError) as found:
        rp.Gate(max_determined=0.01, compromised=1.0)
    assert said(found.value)["message"] == (
        "What the adversary knows already must be from 0 to below 100 percent; correct it under Gate."
    )


@pytest.mark.parametrize(
    "job, heading",
    [
        (
            Job(
                "publish",
                "visits",
                state="failed",
                message="disk full",
                result=COMMITTED,
            ),
            "Release 2 was committed",
        ),
        (
            Job("publish", "visits", state="refused", message="late", result=COMMITTED),
            "Release 2 was committed",
        ),
        (
            Job("publish", "visits", state="done", problem="Stopped", message="late", result=COMMITTED),
            "Release 2 was committed",
        ),
        (
            Job("publish", "visits", state="done", message="fine (afterwards: no log)", result=COMMITTED),
            "Release 2 was committed",
        ),
        (Job("publish", "visits", state="done", message="fine", result=COMMITTED), "Release 2 is published"),
        (Job("publish", "visits", state="failed", problem="Stopped", message="gone"), "look whether"),
        (
            Job("publish", "visits", state="failed", problem="ViewError", message="no"),
            "nothing was published",
        ),
        (Job("dry-run", "visits", state="failed", problem="Stopped", message="no"), "nothing was published"),
        (
            Job("publish", "visits", state="refused", problem="LimitBroken", message="no"),
            "nothing was published",
        ),
    ],
)
def test_a_job_that_did_not_end_well_says_whether_a_release_is_there(
    client: TestClient, job: Job, heading: str
) -> None:
    desk_of(client).jobs._jobs[job.id] = job
    page = client.get(f"/s/visits/jobs/{job.id}").text
    assert heading in page
    assert ("nothing was published" in page) == (heading == "nothing was published")
    assert job.message in page.lower() or job.message == "fine"


# What the pages ask for and offer ---------------------------------------------------------------------


def test_the_report_is_not_among_the_files_for_recipients(client: TestClient) -> None:
    page = client.get("/s/visits/r/1").text
    start = page.index("Exactly these files may be handed out")
    table = page[start : page.index("</table>", start)]
    assert "table.csv" in table
    assert "report" not in table
    assert page.index("For the person who signs; not for recipients") < page.index(">report.html<")


def test_a_gate_is_set_unless_it_is_unticked_and_then_its_fields_rest(client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv())
    ticked = re.search(r'<input type="checkbox" id="gate"[^>]*>', page.text)  # type: ignore[attr-defined]
    assert ticked is not None
    assert "checked" in ticked[0]
    again = post(client, page.url.path, name="visits", publisher="tau-safety")  # type: ignore[attr-defined]
    for field in ("max_determined", "gate_compromised"):
        found = re.search(rf'<input type="number" id="{field}"[^>]*>', again.text)  # type: ignore[attr-defined]
        assert found is not None
        assert "disabled" in found[0]
        assert 'value=""' in found[0]  # the limits that were tried


def test_the_form_takes_the_names_that_the_desk_takes(client: TestClient) -> None:
    page = post(client, "/new", view(0).write_csv())
    pattern = re.search(r'id="name"[^>]* pattern="([^"]+)"', page.text)  # type: ignore[attr-defined]
    assert pattern is not None
    for name in ("a", "Visits 2026", "a.b-c_d", "x" * 64, "x" * 65, "-a", "a ", ".", "é", "a/b"):
        assert bool(re.fullmatch(pattern[1], name)) == bool(NAME.fullmatch(name)), name


def test_a_point_of_the_map_has_the_whole_command(client: TestClient, folder: Path, tmp_path: Path) -> None:
    """What is printed makes the series of that point, with the gate and the schema of this one."""
    page = html.unescape(client.get("/s/visits/tune").text)
    assert (
        f"republish tune {folder / 'visits'} VIEW.csv ... --max-determined 0.2 --write policy/series.toml"
        in page
    )
    (command,) = re.findall(r"republish init NEW .*--publisher tau-safety[^<]*", page)
    with_schema = rp.Series.open(folder / "visits")
    point = Point.from_dict(SEARCH["points"][0])  # type: ignore[index]
    (tmp_path / "policy").mkdir()
    write_policy(chosen_policy(with_schema, point), tmp_path / "policy" / "series.toml")
    words = shlex.split(
        command.replace("NEW", str(tmp_path / "made"), 1).replace(" policy/", f" {tmp_path}/policy/")
    )
    done = CliRunner().invoke(cli, words[1:])
    assert done.exit_code == 0, done.output
    made = rp.Series.open(tmp_path / "made")
    assert made.policy.gate == with_schema.policy.gate
    assert made.schema.columns == with_schema.schema.columns
    made.ledger.close()
    with_schema.ledger.close()


def test_a_point_that_promises_nothing_over_the_series_says_so(client: TestClient, folder: Path) -> None:
    alone = {"publisher": "mondrian", "parameters": {"k": 5}, "require": "t=0.4"}
    beaten = {"publisher": "cohorts", "parameters": {"m": 3}, "penalty": 0.4, "risk": 0.2, "feasible": True}
    points = [alone | {"penalty": 0.2, "risk": 0.1, "feasible": True, "protects_series": False}, beaten]
    kept = folder / "new-one" / "private" / "tune"
    kept.mkdir(exist_ok=True)
    (kept / "1.json").write_text(json.dumps(SEARCH | {"points": points, "chosen": None}), encoding="utf-8")
    page = client.get("/s/new-one/tune").text
    assert "mondrian promises nothing over the series; this was measured on these views alone" in page
    (command,) = re.findall(r"republish init NEW .*", html.unescape(page))
    assert re.search(r"--require \S*t=0.4", command)
    assert "--one-table" in command
    assert "at least as good in both risk and blur" in page


def test_no_figure_is_hidden_on_a_small_screen() -> None:
    small = (STATIC / "desk.css").read_text().partition("@media (max-width: 640px)")[2].partition("@media")[0]
    gone = re.findall(r"([^{}]+)\{[^{}]*display: none", small)
    assert [one.strip() for one in gone if "thead" not in one] == []


def test_the_file_of_the_last_release_is_nothing_new_unless_that_is_ticked(
    client: TestClient, fresh: str
) -> None:
    address = str(post(client, f"/s/{fresh}/publish", view(0).write_csv()).url.path)  # type: ignore[attr-defined]
    refused = ended(client, post(client, f"{address}/dry-run").url.path)  # type: ignore[attr-defined]
    assert "othing new: the last release was made of this very view" in refused
    assert "say so at the trial run" in refused and "--same-view" not in refused
    done = post(client, f"{address}/confirm", **tried(client, address, meant="same-view"))
    assert "Release 2 is published" in ended(client, done.url.path)  # type: ignore[attr-defined]


def test_what_is_meant_is_ticked_at_the_trial_run_and_kept_for_the_confirmation(
    client: TestClient, fresh: str
) -> None:
    sent = post(client, f"/s/{fresh}/publish", view(1).clear().write_csv())
    address = str(sent.url.path)  # type: ignore[attr-defined]
    assert 'name="meant" value="fewer-rows"' in client.get(address).text
    refused = ended(client, post(client, f"{address}/dry-run").url.path)  # type: ignore[attr-defined]
    assert "say so at the trial run" in refused and "--fewer-rows" not in refused
    assert "What you can do" not in refused  # that is about the gate
    assert f'href="{address}"' in refused
    done = post(client, f"{address}/confirm", **tried(client, address, meant="fewer-rows"))
    assert "Release 2 is published" in ended(client, done.url.path)  # type: ignore[attr-defined]
    assert desk_of(client).one(fresh).releases[-1].rows == 0


def test_newcomers_wait_where_that_is_ticked(client: TestClient, fresh: str) -> None:
    address = str(post(client, f"/s/{fresh}/publish", view(1).write_csv()).url.path)  # type: ignore[attr-defined]
    assert 'name="hold_newcomers"' in client.get(address).text
    started = post(client, f"{address}/dry-run", hold_newcomers="yes")
    page = ended(client, started.url.path)  # type: ignore[attr-defined]
    new = len(set(view(1)["patient"]) - set(view(0)["patient"]))
    assert f"Newcomers wait: <strong>{new}</strong>" in page
    done = post(client, f"{address}/confirm", **hidden(page))
    assert "Release 2 is published" in ended(client, done.url.path)  # type: ignore[attr-defined]
    assert desk_of(client).one(fresh).releases[-1].arrivals["new"] == 0


def test_what_a_gate_refuses_leads_to_what_may_be_done_at_the_desk(client: TestClient, folder: Path) -> None:
    name, schema = "strict", rp.Series.open(folder / "visits").schema
    gate = rp.Gate(attacks=("tau",), max_mean_confidence=0.0)
    series = rp.Series.create(folder / name, schema, rp.TauSafety(m=3), gate=gate, seed=1)
    series.ledger.close()
    page = ended(client, post(client, f"{uploaded(client, name)}/dry-run").url.path)  # type: ignore[attr-defined]
    assert "This release would be refused" in page
    assert f'href="/s/{name}/change"' in page and f'href="/s/{name}/tune"' in page
    assert "another limit need" not in page and "What you can do" in page
    assert "Back to this file" in page


def test_a_corrected_file_takes_the_place_of_the_last_release(client: TestClient, fresh: str) -> None:
    address = uploaded(client, fresh)
    assert "This file corrects release 1" in html.unescape(client.get(address).text)
    started = post(client, f"{address}/dry-run", corrects="1", meant="new-people")
    page = ended(client, started.url.path)  # type: ignore[attr-defined]
    assert "Corrects release 1, which is withdrawn and still counted" in page
    assert "An adversary who has both determines by linear" in page
    done = post(client, f"{address}/confirm", **hidden(page))
    assert "Release 2 is published" in ended(client, done.url.path)  # type: ignore[attr-defined]
    assert [one.withdrawn for one in desk_of(client).one(fresh).releases] == [True, False]


def test_only_the_last_release_is_corrected(client: TestClient, fresh: str) -> None:
    answer = post(client, f"{uploaded(client, fresh)}/dry-run", corrects="7")
    assert answer.status_code == 400  # type: ignore[attr-defined]
    said = html.unescape(answer.text)  # type: ignore[attr-defined]
    assert "Only the last release can be corrected" in said and "withdraw the wrong one on its page" in said


def test_a_release_is_withdrawn_on_its_page_with_a_reason_and_a_tick(client: TestClient, fresh: str) -> None:
    place = f"/s/{fresh}/r/1"
    assert "Withdraw release 1 for good" in client.get(place).text
    for fields, words in (
        ({"reason": "a slip"}, "Tick that you want to withdraw"),
        ({"sure": "yes", "reason": " "}, "give a reason"),
    ):
        answer = post(client, f"{place}/withdraw", **fields)
        assert answer.status_code == 400 and words in answer.text  # type: ignore[attr-defined]
    assert not desk_of(client).one(fresh).releases[0].withdrawn
    done = post(client, f"{place}/withdraw", sure="yes", reason="a slip")
    assert "This release was withdrawn" in done.text  # type: ignore[attr-defined]
    assert "for good" not in done.text  # type: ignore[attr-defined]
    assert desk_of(client).one(fresh).releases[0].withdrawn
    line = desk_of(client).audit_lines(fresh)[-1]
    assert (line["action"], line["outcome"], line["release"]) == ("withdraw", "done", 1)
    again = post(client, f"{place}/withdraw", sure="yes", reason="a slip")
    assert "release 1 is withdrawn already" in again.text.lower()  # type: ignore[attr-defined]
