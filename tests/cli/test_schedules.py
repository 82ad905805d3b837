"""What schedulers rely on: exit codes, silence, waiting, the status in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from republish import PolicyError, Series, errors
from republish.cli.status import span_of
from republish.errors import EXIT_CODES, RepublishError
from republish.publishing.maintenance import withdraw
from typed import typed

WRITING = ("publish", "amend", "withdraw", "forget", "adopt", "backup")


@pytest.fixture
def published(series: Series, views: list[Path]) -> Series:
    series.publish(views[0], as_of="2026-01-05")
    return series


def families(kind: type[RepublishError]) -> set[type[RepublishError]]:
    return {kind}.union(*(families(one) for one in kind.__subclasses__()))


def test_every_error_has_one_of_the_codes_that_help_names() -> None:
    said = " ".join(typed("--help").stdout.split())
    assert (
        "Exit codes: 0 done, 1 a promise or limit does not hold, 2 wrong use or bad input, 75 busy, try again later, "
        "99 nothing new, 130 stopped by hand."
    ) in said
    assert {kind.exit_code for kind in families(RepublishError)} == set(EXIT_CODES) - {0, 130}


@pytest.mark.parametrize(
    "kind, code",
    [
        ("ViewError", 2), ("SchemaError", 2), ("PolicyError", 2), ("LedgerError", 2), ("Implausible", 1),
        ("CannotPublish", 1), ("BrokenPromise", 1), ("LimitBroken", 1), ("SeriesBusy", 75), ("NothingNew", 99),
    ],
)  # fmt: skip
def test_the_code_of_an_error(kind: str, code: int) -> None:
    assert getattr(errors, kind).exit_code == code


def test_the_same_view_ends_with_99_and_is_no_error(published: Series, views: list[Path]) -> None:
    done = typed("publish", published.root, views[0])
    assert done.returncode == 99
    assert done.stdout.startswith("nothing new: the last release was made of this very view, 400 rows")
    assert done.stderr == ""
    assert typed("publish", published.root, views[0], "--same-view").returncode == 0


def test_a_limit_of_expect_that_does_not_hold_ends_with_1(
    published: Series, views: list[Path], tmp_path: Path
) -> None:
    few = tmp_path / "few.csv"
    few.write_text("".join(views[1].read_text().splitlines(keepends=True)[:100]))
    for more in ((), ("--dry-run",)):
        done = typed("publish", published.root, few, *more)
        assert done.returncode == 1 and "--fewer-rows" in done.stderr
    document = json.loads(typed("publish", published.root, few, "--json").stdout)
    assert (document["error"]["kind"], document["error"]["exit_code"]) == ("Implausible", 1)


def test_a_busy_series_ends_with_75(published: Series, views: list[Path]) -> None:
    with published.ledger.lock("publish"):
        done = typed("publish", published.root, views[1])
    assert done.returncode == 75
    assert "is doing so; nothing was written" in done.stderr


@pytest.mark.parametrize("command", WRITING)
def test_every_command_that_writes_can_wait_and_be_quiet(command: str) -> None:
    said = typed(command, "--help").stdout
    assert "--wait" in said and "--quiet" in said and "--json" in said


def test_whoever_waits_is_told_and_goes_on(published: Series, views: list[Path]) -> None:
    command = [
        sys.executable,
        "-m",
        "republish",
        "publish",
        str(published.root),
        str(views[1]),
        "--wait",
        "99",
    ]
    with published.ledger.lock("publish"):
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith("waiting up to 99 seconds for process ")
    said, _ = waiting.communicate()
    assert waiting.returncode == 0
    assert said.startswith("release 2 as of")


def test_quiet_says_nothing_where_all_went_well(published: Series, views: list[Path], tmp_path: Path) -> None:
    for words in (
        ("publish", published.root, views[1]),
        ("withdraw", published.root, 1),
        ("backup", published.root, tmp_path / "b.tar"),
        ("verify", published.root),
        ("status", published.root, "--max-age", "1d"),
    ):
        done = typed(*words, "--quiet")
        assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    done = typed("publish", published.root, views[1], "--quiet")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 99)


def test_quiet_says_what_is_wrong(published: Series, views: list[Path]) -> None:
    refused = typed("publish", published.root, "nothing.csv", "--quiet")
    assert refused.returncode == 2 and refused.stderr.startswith("error: ")
    withdraw(published, 1)
    assert "is withdrawn" in typed("status", published.root, "--quiet").stdout
    (published.root / "releases/0001/table.csv").write_text("other")
    broken = typed("verify", published.root, "--quiet")
    assert broken.returncode == 1 and "problem: releases/0001/table.csv was altered" in broken.stdout


def test_quiet_ends_with_its_command(published: Series) -> None:
    typed("status", published.root, "--quiet")
    assert typed("history", published.root).stdout != ""


def test_status_is_one_line(published: Series) -> None:
    done = typed("status", published.root, "--max-age", "8d")
    assert done.returncode == 0
    assert done.stdout.startswith("OK: series: release 1 as of 2026-01-05, published ")
    assert done.stdout.endswith(" ago; chain, policy and files intact\n")
    assert done.stdout.count("\n") == 1


def test_status_of_a_gate(tmp_path: Path, views: list[Path], hospital_folder: Path) -> None:
    words = ("--schema", hospital_folder / "schema.toml", "--publisher", "tau-safety", "-p", "m=3")
    assert (
        typed("init", tmp_path / "g", *words, "--gate", "attacks=linear,max_determined=0.9").returncode == 0
    )
    assert typed("publish", tmp_path / "g", views[0], "--quiet").returncode == 0
    assert " ago, gate passed; chain" in typed("status", tmp_path / "g").stdout


def test_status_of_an_empty_series(series: Series) -> None:
    assert (
        typed("status", series.root).stdout == "OK: series: no release yet; chain, policy and files intact\n"
    )
    late = typed("status", series.root, "--max-age", "8d")
    assert (late.returncode, late.stdout) == (
        1,
        "PROBLEM: series: nothing is published yet; no release yet\n",
    )


def test_status_names_the_first_problem_and_counts_the_others(published: Series) -> None:
    withdraw(published, 1)
    (published.root / "releases/0001/table.csv").unlink()
    done = typed("status", published.root)
    assert done.returncode == 1
    assert done.stdout.startswith(
        "PROBLEM: series: release 1, the last, is withdrawn, and nothing takes its place (and 1 more problems, see "
        "--json); release 1 as of 2026-01-05"
    )


def test_a_correction_is_told_and_stands_in_the_history(published: Series, views: list[Path]) -> None:
    done = typed("publish", published.root, views[1], "--corrects", "1")
    assert done.returncode == 0
    assert "  corrects release 1, which is withdrawn and still counted: others may have it\n" in done.stdout
    assert "  an adversary who has both determines by linear " in done.stdout
    assert "corrects 1" in typed("history", published.root).stdout
    assert "corrects release 1, which is withdrawn" in typed("show", published.root, "2").stdout


@pytest.mark.parametrize(
    "text, span",
    [
        ("8d", timedelta(days=8)), ("36h", timedelta(hours=36)), ("2w", timedelta(weeks=2)),
        ("1d12h", timedelta(hours=36)), ("90m", timedelta(minutes=90)), ("45s", timedelta(seconds=45)),
        ("P8D", timedelta(days=8)), ("PT36H", timedelta(hours=36)), ("P1DT12H", timedelta(hours=36)),
        ("p2w", timedelta(weeks=2)),
    ],
)  # fmt: skip
def test_spans_of_time(text: str, span: timedelta) -> None:
    assert span_of(text) == span


@pytest.mark.parametrize("text", ["", "8", "d", "P", "0d", "8 days", "-8d", "1.5d", "9" * 400 + "w"])
def test_what_is_no_span_of_time(text: str) -> None:
    with pytest.raises(PolicyError, match="--max-age must be a span of time above zero, such as 8d"):
        span_of(text)
