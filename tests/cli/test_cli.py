"""The command line as a newcomer uses it: what it prints, what it returns, how it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from canaries.driver import command as heard
from republish.cli import app
from typed import Typed, typed

ROOT = Path(__file__).parents[2]
COMMANDS = [command.name for command in app.registered_commands]


def process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("REPUBLISH_TRACEBACK", "COLUMNS")
    }
    command = [sys.executable, "-m", "republish", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def ok(*arguments: str | Path, answers: str = "") -> str:
    done = typed(*arguments, answers=answers)
    assert done.returncode == 0, done.stderr
    return done.stdout


def document(*arguments: str | Path) -> dict[str, object]:
    found = json.loads(ok(*arguments, "--json"))
    assert isinstance(found, dict)
    return found


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with generated data and a series of two releases, all made by the command line."""
    folder = tmp_path_factory.mktemp("cli")
    ok("generate", "hospital", folder / "data", "--views", "2", "--rows", "300")
    ok(
        "init", folder / "series", "--schema", folder / "data/schema.toml", "--publisher", "mondrian",
        "-p", "k=5", "--require", "l=2", "--one-table", "--seed", "1",
    )  # fmt: skip
    for week, view in enumerate(sorted((folder / "data/views").iterdir()), start=5):
        ok("publish", folder / "series", view, "--as-of", f"2026-01-{week:02d}")
    return folder


def test_what_is_learned_may_have_the_roles_of_a_series(published: Path, tmp_path: Path) -> None:
    views = sorted((published / "data/views").iterdir())
    said = ok("learn", tmp_path / "known", *views, "--schema", published / "series")
    assert (tmp_path / "known/knowledge.toml").is_file()
    assert f"init SERIES --schema {published / 'series'} --publisher js-reduce" in said.replace("\n", " ")


def test_help_explains_every_command_in_the_order_of_the_work() -> None:
    text = ok("--help")
    places = [
        text.index(f" {name} ") for name in ("generate", "init", "publish", "history", "verify", "backup")
    ]
    assert places == sorted(places)
    for command in COMMANDS:
        assert command in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command: str) -> None:
    (page,) = re.findall(
        rf"\(([\w-]+\.md)#republish-{command}\)", (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    )
    assert f"## republish {command}\n" in (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert "Usage" in ok(command, "--help")


def test_publish_says_what_it_did(published: Path) -> None:
    done = document(
        "publish", published / "series", published / "data/views/001.csv", "--dry-run", "--same-view"
    )
    assert done["release"] == 3
    assert done["rows"] == 300
    assert done["folder"] is None
    text = ok("publish", published / "series", published / "data/views/001.csv", "--dry-run", "--same-view")
    assert "dry run, nothing was written" in text
    assert "k=5, l=2" in text
    assert "protects this release alone, not the series" in text


def test_history_lists_every_release(published: Path) -> None:
    found = document("history", published / "series")
    assert [line["release"] for line in found["releases"]] == [1, 2]  # type: ignore[index,attr-defined]
    assert "2026-01-06" in ok("history", published / "series")


def test_show_explains_series_and_release(published: Path) -> None:
    text = ok("show", published / "series")
    assert "LeFevre" in text
    assert "nothing; each release is protected alone" in text
    assert "patient" in text
    assert "certainty" in ok("show", published / "series", "1").lower() or "penalty" in ok(
        "show", published / "series", "1"
    )
    assert document("show", published / "series", "1")["rows"] == 300


def test_show_draws_the_groups(published: Path, tmp_path: Path) -> None:
    ok("show", published / "series", "1", "--plot", tmp_path / "groups.png", "--axes", "age,weight")
    assert (tmp_path / "groups.png").read_bytes().startswith(b"\x89PNG")
    refused = typed("show", published / "series", "1", "--plot", tmp_path / "g.png", "--axes", "age,nothing")
    assert refused.returncode == 2
    assert "there are age, gender, weight" in refused.stderr


def test_verify_holds_and_is_one_line(published: Path) -> None:
    text = ok("verify", published / "series")
    assert text.startswith("verified: 2 releases, chain and files intact")
    assert document("verify", published / "series")["holds"] is True


def test_verify_of_a_table_says_how_much_violates_what(published: Path) -> None:
    table = published / "series/releases/0001/table.csv"
    schema = published / "data/schema.toml"
    assert "yes" in ok("verify", table, "--schema", schema, "--require", "k=5,l=2")
    done = typed("verify", table, "--schema", schema, "--require", "k=40", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["checks"][0]["groups"] == found["groups"]
    assert found["checks"][0]["rows"] == 300


def test_measure_with_and_without_the_truth(published: Path) -> None:
    def measured(*options: str | Path) -> dict[str, dict[str, float | None]]:
        return document("measure", published / "series", *options)["releases"]  # type: ignore[return-value]

    without = measured()
    assert without["1"]["kl_divergence"] is None
    with_truth = measured("--truth", published / "data/views")
    assert (with_truth["1"]["kl_divergence"] or 0) > 0
    assert with_truth["1"]["penalty"] == without["1"]["penalty"]
    assert "linkage" in ok("measure", published / "series", "--truth", published / "data/views")


def test_truth_needs_one_view_a_release(published: Path, tmp_path: Path) -> None:
    done = typed("measure", published / "series", "--truth", tmp_path)
    assert done.returncode == 2
    assert "2 releases, 0 files" in done.stderr


@pytest.mark.parametrize(
    ("publisher", "noted"), [("m-invariance", True), ("tau-safety", False), ("js-reduce", None)]
)
def test_returns_and_new_lives_are_told_of_where_they_matter(
    publisher: str, noted: bool | None, tmp_path: Path
) -> None:
    """Two come back in the third week, and one value changes; only signatures have episodes."""
    schema = '[columns]\nid = { role = "identifier" }\nage = { role = "quasi-identifier", kind = "number" }\n'
    (tmp_path / "schema.toml").write_text(schema + 'dx = { role = "sensitive" }\n')
    parameter = "k=2" if noted is None else "m=2"
    series, view = tmp_path / "series", tmp_path / "view.csv"
    ok("init", series, "--schema", tmp_path / "schema.toml", "--publisher", publisher, "-p", parameter)
    weeks = ("p,1,flu q,2,cold r,3,flu s,4,cold", "p,1,flu q,2,cold", "p,1,cold q,2,flu r,3,flu s,4,cold")
    for number, week in enumerate(weeks, start=1):
        view.write_text("id,age,dx\n" + week.replace(" ", "\n") + "\n")
        said = ok("publish", series, view)
        assert ("note: 2 people came back" in said) == (number == 3 and noted is True)
    episodes = "2 changed values began a new episode, in which the signature need not be the old one"
    said = ok("verify", series)
    assert (episodes in said, "new episode" in said) == (noted is not None, noted is not None)


def test_a_backup_says_whether_it_holds_the_secret(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "holds the series and its secret" in ok("backup", published / "series", tmp_path / "with.tar")
    schema = published / "data/schema.toml"
    monkeypatch.setenv("REPUBLISH_SECRET", "0123456789abcdef")
    made = ok("init", tmp_path / "s", "--schema", schema, "--publisher", "mondrian", "-p", "k=5")
    assert "the secret is that of REPUBLISH_SECRET, which no backup holds" in made
    assert "holds the series without its secret" in ok("backup", tmp_path / "s", tmp_path / "s.tar")
    assert document("backup", tmp_path / "s", tmp_path / "t.tar")["secret"] is False


def test_withdraw_forget_backup_and_restore(published: Path, tmp_path: Path) -> None:
    ok("backup", published / "series", tmp_path / "copy.tar.gz")
    ok("restore", tmp_path / "copy.tar.gz", tmp_path / "copy")
    assert "withdrawn" in ok("withdraw", tmp_path / "copy", "1", "--reason", "typing error")
    assert "withdrawn" in ok("history", tmp_path / "copy")
    people = pl.read_csv(published / "data/views/001.csv")["patient"].head(3)
    people.to_frame().write_csv(tmp_path / "gone.csv")
    assert "3 of 3 people erased" in ok("forget", tmp_path / "copy", "--ids", tmp_path / "gone.csv", "--yes")
    refused = typed("forget", tmp_path / "copy", "--ids", tmp_path / "gone.csv", answers="n\n")
    assert refused.returncode == 130
    ok("verify", tmp_path / "copy")


def test_generate_census_and_its_presets(tmp_path: Path) -> None:
    ok(
        "generate",
        "census",
        tmp_path / "c",
        "--people",
        "3000",
        "--rows",
        "500",
        "--views",
        "2",
        "--insert",
        "0.1",
    )
    assert len(list((tmp_path / "c/views").iterdir())) == 2
    done = typed("generate", "census", tmp_path / "d", "--preset", "tau-safety", "--rows", "5")
    assert done.returncode == 2
    assert typed("generate", "hospital", tmp_path / "e", "--people", "5").returncode == 2


def test_init_from_a_view_asks_and_takes_other_answers(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("name,age,postcode,disease\nAnn,31,01234,flu\nBob,32,01234,cold\n")
    answers = "identifier\nquasi\nnumber\nquasi-identifier\ncategory\nsensitive\ncategory\n"
    ok(
        "init",
        tmp_path / "s",
        "--from",
        tmp_path / "v.csv",
        "--publisher",
        "mondrian",
        "-p",
        "k=2",
        answers=answers,
    )
    ok("init", tmp_path / "t", "--from", tmp_path / "v.csv", "--publisher", "mondrian", "-p", "k=2", "--yes")
    policies = [(tmp_path / name / "series.toml").read_text() for name in "st"]
    assert re.sub("seed = .*", "", policies[0]) == re.sub("seed = .*", "", policies[1])
    assert "2 rows" in ok("publish", tmp_path / "s", tmp_path / "v.csv")


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("publish", "nowhere", "v.csv"), "there is no series at nowhere"),
        (("init", "s", "--publisher", "mondrian"), "give --schema FILE or --from VIEW"),
        (("init", "s", "--from", "v.csv"), "there is no file v.csv"),
        (("init", "s", "--schema", "s.toml", "--publisher", "magic"), "no publisher called magic"),
        (("init", "s", "--schema", "s.toml", "-p", "k"), "NAME=VALUE"),
        (("init", "s", "--schema", "s.toml", "--require", "z=3"), "z"),
        (("verify", "t.csv"), "no series and no table"),
        (("frobnicate",), "frobnicate"),
        (("publish",), "series"),
        (("restore", "nothing.tar", "s"), "nothing.tar"),
    ],
)
def test_wrong_use_is_exit_2_and_a_sentence(arguments: tuple[str, ...], text: str, tmp_path: Path) -> None:
    done = typed(*arguments, folder=tmp_path)
    assert_refused(done, text)


def test_a_process_says_the_same() -> None:
    assert_refused(process("publish", "nowhere", "v.csv"), "there is no series at nowhere")
    done = process("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("republish ")


def assert_refused(done: Typed | subprocess.CompletedProcess[str], text: str) -> None:
    assert done.returncode == 2
    assert text.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr


def test_errors_have_one_json_shape(tmp_path: Path) -> None:
    done = typed("history", tmp_path / "nowhere", "--json")
    found = json.loads(done.stdout)
    assert set(found) == {"schema_version", "command", "error"}
    assert set(found["error"]) == {"kind", "message", "exit_code"}


def test_no_message_shows_a_cell(published: Path, tmp_path: Path) -> None:
    good = (published / "data/views/001.csv").read_text().splitlines()
    header, first = good[0], good[1].split(",")
    marked = {
        "number": [first[0], "SECRETCELL", *first[2:]],
        "extra": [*first, "SECRETCELL"],
        "value": [*first[:-1], "SECRETCELL"],
        "twice": ["SECRETCELL", *first[1:]],
    }
    for name, cells in marked.items():
        rows = [",".join(cells)] * (2 if name == "twice" else 1)
        (tmp_path / "bad.csv").write_text("\n".join([header, *good[2:], *rows]) + "\n")
        done = heard("publish", published / "series", tmp_path / "bad.csv")
        assert done.code == 2, name
        assert "SECRETCELL" not in done.text


def test_help_does_not_wait_for_the_heavy_libraries() -> None:
    code = (
        "import sys, republish.cli; print([m for m in ('numba', 'polars', 'sqlalchemy') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_small_table_is_published_without_heavy_libraries(
    hospital_folder: Path, tmp_path: Path, views: list[Path]
) -> None:
    typed("init", tmp_path / "s", "--schema", hospital_folder / "schema.toml", "--publisher", "tau-safety")
    code = (
        "import sys, republish.cli\n"
        "try: republish.cli.main()\n"
        "except SystemExit as done: assert not done.code\n"
        "heavy = ('numba', 'narwhals', 'matplotlib', 'sqlalchemy', 'rich')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    said = subprocess.check_output(
        [sys.executable, "-c", code, "publish", str(tmp_path / "s"), str(views[0])], text=True
    )
    assert said.splitlines()[-1] == "[]"


def test_attack_says_what_adversaries_find_out(published: Path) -> None:
    found = document(
        "attack", published / "series", "--attack", "intersection,tau", "--truth", published / "data/views"
    )
    assert [result["attack"] for result in found["attacks"]] == ["intersection", "tau"]  # type: ignore[index,attr-defined]
    assert found["attacks"][1]["overall"]["people"] > 300  # type: ignore[index]
    text = ok("attack", published / "series", "--compromised", "0.1")
    for name in ("intersection", "tau", "compromised", "historical", "counterfeits"):
        assert name in text
    assert "vulnerable" not in text and "hc-unsafe" not in text  # mondrian promises nothing of signatures
    refused = typed("attack", published / "series", "--attack", "magic")
    assert refused.returncode == 2
    assert "there are intersection, tau" in refused.stderr


def test_the_demo_shows_safe_series_and_a_broken_one(tmp_path: Path) -> None:
    text = ok("demo", "--out", tmp_path / "demo", "--weeks", "2")
    assert text.count("every promise holds") == 3
    assert "open batches" in text and "expected to be determined" in text
    line = re.compile(r"^ *(each table alone|tau-safety|value-blind, as recommended)  +([04])% +(.*)$", re.M)
    found = {
        (name, known): [
            [int(one.replace(",", "")) for one in cell] for cell in re.findall(r"([\d,]+) of ([\d,]+)", cells)
        ]
        for name, known, cells in line.findall(text)
    }
    assert len(found) == 6
    (_, people), (tau, _), (linear, _) = found["each table alone", "0"]
    assert people > 800 and linear >= tau > 50
    assert [count for count, _ in found["tau-safety", "0"][:2]] == [0, 0]
    for known in "04":
        assert [count for count, _ in found["value-blind, as recommended", known]] == [0, 0, 0]


def test_a_restored_series_never_writes_into_the_original_catalogue(published: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    data = published / "data"
    ok(
        "init",
        tmp_path / "s",
        "--schema",
        data / "schema.toml",
        "--publisher",
        "mondrian",
        "--one-table",
        "--ledger",
        url,
    )
    ok("publish", tmp_path / "s", data / "views/001.csv")
    ok("backup", tmp_path / "s", tmp_path / "copy.tar")
    ok("restore", tmp_path / "copy.tar", tmp_path / "copy")
    ok("publish", tmp_path / "copy", data / "views/002.csv")
    assert len(document("history", tmp_path / "copy")["releases"]) == 2  # type: ignore[arg-type]
    assert len(document("history", tmp_path / "s")["releases"]) == 1  # type: ignore[arg-type]
    ok("verify", tmp_path / "s")
    ok("verify", tmp_path / "copy")
