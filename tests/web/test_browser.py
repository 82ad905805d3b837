"""A person at the desk, in a real browser: Debian's Chromium, driven by Playwright, against a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import republish as rp

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    MISSING = "browser tests need Chromium on the PATH: apt install chromium (Debian package chromium)"
    if os.environ.get("REPUBLISH_NEEDS_BROWSER"):
        pytest.fail(MISSING, pytrace=False)
    pytest.skip(MISSING, allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="browser tests need playwright: '.[dev]'")
Page = playwright.Page

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
VALUES = ["flu", "asthma", "cancer", "gastritis", "angina", "migraine", "diabetes", "ulcer"]
WAIT = 60_000  # milliseconds; a first job compiles kernels
LIMIT = 100_000


def view(path: Path, first: int, rows: int = 120) -> Path:
    """A view of people first, first + 1, ..."""
    people = range(first, first + rows)
    pl.DataFrame(
        {
            "patient": [f"person-{i:04d}" for i in people],
            "age": [18 + i * 37 % 70 for i in people],
            "weight": [45 + i * 53 % 60 for i in people],
            "diagnosis": [VALUES[i % 8] for i in people],
        }
    ).write_csv(path)
    return path


@dataclass
class Desk:
    """A desk in a process of its own."""

    folder: Path
    process: subprocess.Popen[str]
    link: str

    @property
    def address(self) -> str:
        return self.link.partition("/?")[0]

    def workers(self) -> list[int]:
        """The processes that do its jobs."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = stat.read_text().rpartition(") ")[2].split()[:2]
            except OSError:
                continue
            if int(parent) == self.process.pid and state != "Z":
                found.append(int(stat.parent.name))
        return found

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def open_desk(folder: Path) -> Desk:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "republish",
            "serve",
            str(folder),
            "--port",
            "0",
            "--upload-limit",
            str(LIMIT),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(folder.parent)},
    )
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found, "the desk says where it is"
    return Desk(folder, process, found[0])


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One desk for all; every test has series of its own."""
    folder = tmp_path_factory.mktemp("desk") / "series"
    folder.mkdir()
    opened = open_desk(folder)
    yield opened
    opened.stop()


@pytest.fixture
def own_desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk for a test that does it harm."""
    (tmp_path / "series").mkdir()
    opened = open_desk(tmp_path / "series")
    workers = opened.workers()
    yield opened
    opened.stop()
    for worker in workers:  # one that was stopped would never see that its desk is gone
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)


@pytest.fixture
def page(browser: object, desk: Desk) -> Iterator[Page]:
    """A page of somebody who followed the link; nothing may be wrong in its console."""
    context = browser.new_context()  # type: ignore[attr-defined]
    page = context.new_page()
    page.set_default_timeout(WAIT)
    wrong: list[str] = []
    page.on("pageerror", lambda problem: wrong.append(str(problem)))
    page.on("console", lambda line: wrong.append(line.text) if "Content Security" in line.text else None)
    page.goto(desk.link)
    yield page
    context.close()
    assert wrong == []


def made(folder: Path, releases: int = 0, gate: rp.Gate | None = None) -> rp.Series:
    """A series, made without the desk."""
    schema = rp.Schema(
        identifier="patient",
        quasi_identifiers=[rp.Number("age"), rp.Number("weight")],
        sensitive="diagnosis",
    )
    series = rp.Series.create(folder, schema, rp.TauSafety(m=3), gate=gate)
    for week in range(releases):
        series.publish(view(folder.parent.parent / f"made{week}.csv", 10 * week))
    return series


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The name of a series that no other test has."""
    return "s" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test"))[:50].rstrip("-")


def releases(folder: Path) -> int:
    series = rp.Series.open(folder)
    try:
        assert series.verify().holds
        return len(series.records)
    finally:
        series.ledger.close()


def upload(page: Page, desk: Desk, name: str, file: Path) -> None:
    page.goto(f"{desk.address}/s/{name}/publish")
    page.get_by_label("The table as it is now").set_input_files(file)
    page.get_by_role("button", name="Upload and check").click()


def try_out(page: Page) -> None:
    page.get_by_role("button", name="Start the trial run").click()
    page.get_by_role("heading", name="This release can be published").wait_for()


def confirm(page: Page, number: int) -> None:
    page.get_by_role("button", name=f"Publish release {number}").click()
    page.get_by_role("heading", name=f"Release {number} is published").wait_for()


def new_series(page: Page, name: str, file: Path) -> None:
    page.get_by_role("link", name="New series", exact=True).click()
    page.get_by_label("Your table").set_input_files(file)
    page.get_by_role("button", name="Upload and propose roles").click()
    page.get_by_label("Name of the series").fill(name)
    page.get_by_text("recipients need one table of rows").click()
    page.locator("#m-tau-safety").check()
    page.get_by_role("spinbutton", name="m", exact=True).fill("3")


def test_a_person_makes_a_series_publishes_twice_attacks_it_and_downloads(
    page: Page, desk: Desk, tmp_path: Path
) -> None:
    first = view(tmp_path / "first.csv", 0)
    new_series(page, "visits", first)
    assert page.get_by_label("Role of diagnosis").input_value() == "sensitive"
    page.get_by_label("At most this share of people determined").fill("50")  # so few people hide little
    page.get_by_role("button", name="Make the series").click()
    page.get_by_text("every column that this series needs").wait_for()
    try_out(page)
    confirm(page, 1)
    upload(page, desk, "visits", view(tmp_path / "second.csv", 12))
    try_out(page)
    confirm(page, 2)

    page.get_by_role("link", name="Attack the series").click()
    page.get_by_label("People whose value is known already").fill("10")
    page.get_by_role("button", name="Start the attack").click()
    page.get_by_role("heading", name="The attack is finished").wait_for()
    page.locator(".chart[data-drawn] canvas").first.wait_for()
    page.get_by_role("link", name="Compare with earlier attacks").click()
    page.get_by_role("cell", name="knows 10").wait_for()

    page.goto(f"{desk.address}/s/visits/r/2")
    with page.expect_download() as found:
        page.get_by_role("link", name="table.csv").click()
    table = (desk.folder / "visits" / "releases" / "0002" / "table.csv").read_bytes()
    assert Path(found.value.path()).read_bytes() == table
    with page.expect_download() as found:
        page.get_by_role("link", name="report.html").click()
    report = Path(found.value.path()).read_text(encoding="utf-8")
    assert "<html" in report
    assert "person-" not in report
    assert releases(desk.folder / "visits") == 2


def test_the_gate_refuses_and_says_why(page: Page, desk: Desk, tmp_path: Path) -> None:
    new_series(page, "guarded", view(tmp_path / "first.csv", 0))
    page.get_by_label("Set a gate").check()
    page.get_by_label("At most this share of people determined").fill("0")
    page.get_by_label("The adversary knows already").fill("90")
    page.get_by_role("button", name="Make the series").click()
    page.get_by_role("button", name="Start the trial run").click()
    page.get_by_role("heading", name="This release would be refused").wait_for()
    page.get_by_text("too high").first.wait_for()
    assert page.get_by_role("button", name=re.compile("Publish release")).count() == 0
    assert releases(desk.folder / "guarded") == 0


def test_the_fields_of_the_gate_rest_while_it_is_not_ticked(page: Page, tmp_path: Path) -> None:
    new_series(page, "unguarded", view(tmp_path / "first.csv", 0))
    share = page.get_by_label("At most this share of people determined")
    assert share.is_enabled()
    page.get_by_label("Set a gate").uncheck()
    assert share.is_disabled()
    page.get_by_label("Set a gate").check()
    assert share.is_enabled()


def test_a_series_that_changed_since_the_trial_run_needs_another(
    page: Page, desk: Desk, name: str, tmp_path: Path
) -> None:
    series = made(desk.folder / name, releases=1)
    upload(page, desk, name, view(tmp_path / "second.csv", 12))
    try_out(page)
    series.publish(view(tmp_path / "other.csv", 5))
    series.ledger.close()
    page.get_by_role("button", name="Publish release 2").click()
    page.get_by_role("heading", name="Not now").wait_for()
    assert releases(desk.folder / name) == 2
    page.get_by_role("button", name="Make another trial run").click()
    confirm(page, 3)
    assert releases(desk.folder / name) == 3


def test_figures_of_risk_are_seen_on_a_small_screen(page: Page, desk: Desk, name: str) -> None:
    made(desk.folder / name, releases=2).ledger.close()
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto(f"{desk.address}/s/{name}/attack")
    page.get_by_role("button", name="Start the attack").click()
    page.get_by_role("heading", name="The attack is finished").wait_for()
    for label in ("Determined", "Surer than 90 %", "Mean confidence", "Gain"):
        box = page.locator(f'td[data-label="{label}"]').first.bounding_box()
        assert box is not None, label
        assert box["x"] + box["width"] <= 390, label


def test_without_the_token_nothing_is_shown(browser: object, desk: Desk, name: str) -> None:
    made(desk.folder / name).ledger.close()
    context = browser.new_context()  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(f"{desk.address}/s/{name}")
    assert page.url == f"{desk.address}/login"
    assert name not in page.content()
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Token").fill(desk.link.partition("token=")[2])
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name=name).wait_for()
    context.close()


@pytest.mark.parametrize(
    "content, words",
    [
        (b"PK\x03\x04 not a table", "This is not a table"),
        (b"patient,age,town\nperson-1,5,x\n", "does not fit"),
        (b"", "empty"),
    ],
)
def test_a_wrong_file_is_explained(
    page: Page, desk: Desk, name: str, tmp_path: Path, content: bytes, words: str
) -> None:
    made(desk.folder / name).ledger.close()
    (tmp_path / "wrong.csv").write_bytes(content)
    upload(page, desk, name, tmp_path / "wrong.csv")
    page.get_by_text(words).first.wait_for()
    assert "person-1" not in page.content()


def test_a_huge_file_is_refused_before_and_after_it_is_sent(
    page: Page, desk: Desk, name: str, tmp_path: Path
) -> None:
    made(desk.folder / name).ledger.close()
    (tmp_path / "huge.csv").write_bytes(b"patient,age,weight,diagnosis\n" * 100_000)
    page.goto(f"{desk.address}/s/{name}/publish")
    field = page.get_by_label("The table as it is now")
    field.set_input_files(tmp_path / "huge.csv")
    assert "larger" in field.evaluate("field => field.validationMessage")
    field.evaluate("field => field.setCustomValidity('')")
    page.get_by_role("button", name="Upload and check").click()
    page.get_by_role("heading", name="The file is too large").wait_for()
    assert not list(tmp_path.glob("republish-desk-*/*/view*"))


def test_a_second_tab_cannot_publish_at_the_same_time(
    page: Page, desk: Desk, name: str, tmp_path: Path
) -> None:
    made(desk.folder / name).ledger.close()
    upload(page, desk, name, view(tmp_path / "first.csv", 0))
    try_out(page)
    other = page.context.new_page()
    other.set_default_timeout(WAIT)
    upload(other, desk, name, view(tmp_path / "second.csv", 5))
    other.get_by_role("button", name="Start the trial run").wait_for()
    (worker,) = desk.workers()
    os.kill(worker, signal.SIGSTOP)  # the first tab's publish takes as long as we like
    try:
        page.get_by_role("button", name="Publish release 1").click()
        page.get_by_role("progressbar").wait_for()
        other.get_by_role("button", name="Start the trial run").click()
        other.get_by_role("heading", name="Not now").wait_for()
    finally:
        os.kill(worker, signal.SIGCONT)
    page.get_by_role("heading", name="Release 1 is published").wait_for()
    assert releases(desk.folder / name) == 1


def test_a_desk_killed_while_it_publishes_leaves_the_series_whole(
    page: Page, own_desk: Desk, tmp_path: Path
) -> None:
    desk = own_desk
    page.goto(desk.link)
    made(desk.folder / "visits", releases=1).ledger.close()
    file = view(tmp_path / "second.csv", 12)
    upload(page, desk, "visits", file)
    try_out(page)
    (worker,) = desk.workers()
    os.kill(worker, signal.SIGSTOP)  # so that it is surely under way when the desk goes
    page.get_by_role("button", name="Publish release 2").click()
    page.get_by_role("progressbar").wait_for()
    job = page.url.partition(desk.address)[2]
    desk.stop(signal.SIGKILL)
    page.get_by_text("The desk does not answer").wait_for()
    os.kill(worker, signal.SIGCONT)
    gone_by = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < gone_by:
        if ") Z" in Path(f"/proc/{worker}/stat").read_text():
            break
        time.sleep(0.05)

    again = open_desk(desk.folder)
    try:
        page.goto(again.link)
        page.goto(again.address + job)
        page.get_by_role("heading", name="This job is not known any more").wait_for()
        page.get_by_role("link", name="To the timeline").click()
        page.get_by_text("was cut off").wait_for()
        assert releases(desk.folder / "visits") == 1
        upload(page, again, "visits", file)
        try_out(page)
        confirm(page, 2)
        assert releases(desk.folder / "visits") == 2
    finally:
        again.stop()


def keep_search(series: Path) -> None:
    """What `tune` would have kept."""
    points = [
        {"publisher": "tau-safety", "parameters": {"m": 3}, "penalty": 0.2, "risk": 0.4, "feasible": True},
        {"publisher": "cohorts", "parameters": {"m": 6}, "penalty": 0.6, "risk": 0.0, "feasible": True},
    ]
    kept = series / "private" / "tune"
    kept.mkdir()
    search = {"made_at": "2026-01-02", "limits": {"max_determined": 0.01}, "points": points, "chosen": 1}
    (kept / "1.json").write_text(json.dumps(search), encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_screen(page: Page, desk: Desk, name: str, width: int, scheme: str) -> None:
    made(desk.folder / name, releases=2).ledger.close()
    keep_search(desk.folder / name)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for path in (
        "",
        "new",
        f"s/{name}",
        f"s/{name}/r/2",
        f"s/{name}/publish",
        f"s/{name}/attack",
        f"s/{name}/tune",
    ):
        page.goto(f"{desk.address}/{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(18, 22, 28)") == (scheme == "dark")


WIDE = "document.documentElement.scrollWidth <= innerWidth"
SHOTS = os.environ.get("REPUBLISH_SCREENSHOTS")
"""A folder for pictures of the pages, to be looked at."""


def fits(page: Page, what: str, width: int) -> None:
    """Whether the page is no wider than the screen."""
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{what}-{width}.png", full_page=True)
    assert page.evaluate(WIDE), what


@pytest.mark.parametrize("width", [1280, 390])
def test_no_step_of_a_series_in_two_tables_is_wider_than_the_screen(
    page: Page, desk: Desk, width: int, tmp_path: Path
) -> None:
    name = f"two-tables-{width}"
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_role("link", name="New series", exact=True).click()
    page.get_by_label("Your table").set_input_files(view(tmp_path / "first.csv", 0, 400))
    page.get_by_role("button", name="Upload and propose roles").click()
    page.get_by_label("Name of the series").fill(name)
    fits(page, "new-upload", width)
    page.get_by_role("button", name="Make the series").click()
    page.get_by_text("every column that this series needs").wait_for()
    page.get_by_text("What each would give away").wait_for()
    fits(page, "columns", width)
    try_out(page)
    page.get_by_role("heading", name="What would be published").wait_for()
    fits(page, "trial-first", width)
    confirm(page, 1)
    fits(page, "published", width)
    upload(page, desk, name, view(tmp_path / "second.csv", 20, 400))
    page.get_by_text("Something about this file is unusual").click()
    fits(page, "columns-later", width)
    try_out(page)
    page.get_by_role("heading", name="Beside the last release").wait_for()
    fits(page, "trial-later", width)
    page.goto(f"{desk.address}/s/{name}/r/1")
    page.get_by_text("Withdraw this release").click()
    fits(page, "release", width)
    page.goto(f"{desk.address}/s/{name}/change")
    page.get_by_role("heading", name="Change this series").wait_for()
    fits(page, "change", width)


def test_a_point_of_the_map_shows_its_settings(page: Page, desk: Desk, name: str) -> None:
    made(desk.folder / name).ledger.close()
    keep_search(desk.folder / name)
    page.goto(f"{desk.address}/s/{name}/tune")
    chosen = page.get_by_role("heading", name="cohorts chosen")
    assert chosen.is_visible()
    page.get_by_role("button", name="Show settings tau-safety m=3").press("Enter")
    page.get_by_role("heading", name="tau-safety", exact=True).wait_for()
    assert not chosen.is_visible()


def test_the_desk_is_used_with_the_keyboard_alone(page: Page, desk: Desk, name: str) -> None:
    made(desk.folder / name, releases=1).ledger.close()
    page.goto(desk.address)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.get_by_role("link", name=name).focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/s/{name}")
    term = page.get_by_text("What is blur?")
    term.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.get_by_text("How much of a column").is_visible()
    page.goto(f"{desk.address}/s/{name}/r/1")
    page.locator(".chart[data-drawn] canvas").first.wait_for()
    page.get_by_label("Across").select_option("weight")
    page.get_by_text("Every box is a group over weight").wait_for()
