"""Views that can hardly be the next ones of their series: refused with figures, unless it is said to be meant."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from republish import Category, Mondrian, Number, PolicyError, Schema, Series, TauSafety, ViewError
from republish.cli import app
from republish.errors import Implausible
from republish.expect import EARLIER
from republish.parts import Engine, Here
from republish.publishing.plausibility import Turnout
from republish.show.promises import words_on_release

SCHEMA = Schema("patient", [Number("age")], Category("dx"))
ENGINES = pytest.mark.parametrize("engine", [None, Here(parts=2)], ids=["whole", "in parts"])


def view(rows: int = 60, first: int = 1, spelled: str = "{}") -> pl.DataFrame:
    numbers = range(first, first + rows)
    return pl.DataFrame(
        {
            "patient": [spelled.format(n) for n in numbers],
            "age": [20 + n % 50 for n in numbers],
            "dx": [f"d{n % 5}" for n in numbers],
        }
    )


def made(folder: Path, *views: pl.DataFrame) -> Series:
    series = Series.create(folder / "s", SCHEMA, TauSafety(2), seed=3)
    for one in views:
        series.publish(one)
    return series


def files(series: Series) -> dict[str, bytes]:
    found = {
        str(path): path.read_bytes()
        for path in sorted(series.root.rglob("*"))
        if path.is_file() and path.name not in ("lock", "ledger.db-wal", "ledger.db-shm")
    }
    assert found
    return found


@ENGINES
def test_a_view_of_people_nobody_knows_is_refused_with_the_figures(
    tmp_path: Path, engine: Engine | None
) -> None:
    series = made(tmp_path, view())
    before = files(series)
    with pytest.raises(Implausible) as refused:
        series.publish(view(55, spelled="{:06}"), engine=engine)
    for words in (
        "of 55 people in this one 0 are recognised",
        "55 would be new",
        "made of 60",
        "zeros in front",
    ):
        assert words in str(refused.value)
    assert files(series) == before


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("{}", "{:06}", "Written without zeros in front, 60 of 60"),
        ("{:06}", "{}", "Written with zeros in front to 6 digits, 60 of 60"),
        ("p{}", " p{}", "Written without spaces around them, 60 of 60"),
        ("p{}", "P{}", "Written in lower case, 60 of 60"),
        ("P{}", "p{}", "Written in upper case, 60 of 60"),
        ("{}", "{}.0", "Written without .0 at the end, 60 of 60"),
        ("p{}", " P{} ", "Written without spaces, zeros in front and .0, in lower case, 60 of 60"),
    ],
)
def test_the_spelling_by_which_people_would_be_recognised_is_said(
    tmp_path: Path, first: str, second: str, words: str
) -> None:
    series = made(tmp_path, view(spelled=first))
    with pytest.raises(Implausible) as refused:
        series.publish(view(spelled=second))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("spelled", "respelled"),
    [("{:03}", 99), (None, 262)],
    ids=["zeros in front of some", "a .0 at the end of most"],
)
def test_people_of_whom_some_are_spelled_otherwise_are_not_taken_for_others(
    tmp_path: Path, spelled: str | None, respelled: int
) -> None:
    series = made(tmp_path, view(300))
    second = view(300, spelled=spelled or "{}")
    if spelled is None:
        mixed = [n if i % 8 == 0 else f"{n}.0" for i, n in enumerate(second["patient"])]
        second = second.with_columns(patient=pl.Series(mixed))
    with pytest.raises(
        Implausible, match=f"{respelled} of {respelled} newcomers would be people whom this view"
    ):
        series.publish(second)
    assert len(series.records) == 1


def test_newcomers_beside_known_people_are_plausible(tmp_path: Path) -> None:
    series = made(tmp_path, view(60))
    assert series.publish(view(60, first=31)).arrivals.new == 30


def test_of_other_people_no_spelling_is_said(tmp_path: Path) -> None:
    series = made(tmp_path, view(spelled="p{}"))
    with pytest.raises(Implausible) as refused:
        series.publish(view(spelled="q{}"))
    assert "Written" not in str(refused.value)


@ENGINES
def test_new_people_can_be_meant_and_the_ledger_says_so(tmp_path: Path, engine: Engine | None) -> None:
    series = made(tmp_path, view())
    done = series.publish(view(spelled="q{}"), engine=engine, meant=["new-people"])
    assert (done.arrivals.new, done.meant) == (60, ("new-people",))
    assert series.records[1].payload["meant"] == ["new-people"]
    assert series.verify().holds


@ENGINES
def test_what_need_not_be_meant_is_not_recorded(tmp_path: Path, engine: Engine | None) -> None:
    series = made(tmp_path, view())
    assert series.publish(view(59), engine=engine, meant=["new-people", "fewer-rows"]).meant == ()
    assert "meant" not in series.records[1].payload


@ENGINES
@pytest.mark.parametrize("rows", [0, 29])
def test_a_small_part_of_the_last_view_is_refused(tmp_path: Path, engine: Engine | None, rows: int) -> None:
    series = made(tmp_path, view())
    before = files(series)
    with pytest.raises(Implausible, match="the last release was made of 60"):
        series.publish(view(rows), engine=engine)
    assert files(series) == before
    assert series.publish(view(rows), engine=engine, meant=["fewer-rows"]).rows == rows


@ENGINES
def test_half_of_the_last_view_is_published(tmp_path: Path, engine: Engine | None) -> None:
    assert made(tmp_path, view()).publish(view(30), engine=engine).rows == 30


@ENGINES
def test_an_empty_first_view_is_refused(tmp_path: Path, engine: Engine | None) -> None:
    series = made(tmp_path)
    with pytest.raises(Implausible, match="has no row"):
        series.publish(view(0), engine=engine)
    assert not series.records
    assert series.publish(view(0), engine=engine, meant=["fewer-rows"]).rows == 0


@ENGINES
def test_a_dry_run_says_the_same(tmp_path: Path, engine: Engine | None) -> None:
    series = made(tmp_path, view())
    with pytest.raises(Implausible):
        series.publish(view(0), engine=engine, dry_run=True)
    assert series.publish(view(0), engine=engine, dry_run=True, meant=["fewer-rows"]).meant == ("fewer-rows",)


def test_all_that_is_odd_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(Implausible, match=r"--fewer-rows.*--new-people"):
        made(tmp_path, view()).publish(view(25, spelled="q{}"))


def test_it_is_said_how_to_say_in_python_that_it_is_meant(tmp_path: Path) -> None:
    with pytest.raises(Implausible, match=r'--fewer-rows, in Python meant=\["fewer-rows"\]'):
        made(tmp_path, view()).publish(view(25))


def test_what_is_meant_has_a_name(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="one of new-people, fewer-rows"):
        made(tmp_path, view()).publish(view(), meant=["anything"])


@pytest.mark.parametrize(
    ("found", "of_strangers", "is_part"),
    [
        (Turnout(rows=100, known=9, remembered=100, last=100), True, False),
        (Turnout(rows=100, known=10, remembered=100, last=100), False, False),
        (Turnout(rows=25, known=2, remembered=10_000, last=30), True, False),
        (Turnout(rows=25, known=25, remembered=10_000, last=465), False, True),
        (Turnout(rows=10_000, known=2, remembered=30, last=30), True, False),
        (Turnout(rows=19, known=0, remembered=100, last=19), False, False),
        (Turnout(rows=100, known=0, remembered=19, last=19), False, False),
        (Turnout(rows=1, known=0, remembered=19, last=19), False, False),
        (Turnout(rows=9, known=9, remembered=20, last=20), False, True),
        (Turnout(rows=0, known=0, remembered=0, last=0), False, True),
    ],
)
def test_the_limits(found: Turnout, of_strangers: bool, is_part: bool) -> None:
    refused = {one.check for one in found.findings(EARLIER) if one.refuses}
    assert ("overlap" in refused, "fewer_rows" in refused) == (of_strangers, is_part)


@ENGINES
@pytest.mark.parametrize("spelled", ["{}.0", "{}.25", "{}e5", "{}.5E+3"])
def test_identifiers_that_look_like_decimals_are_refused(
    tmp_path: Path, engine: Engine | None, spelled: str
) -> None:
    series = made(tmp_path)
    with pytest.raises(ViewError, match="60 of 60 look like decimals"):
        series.publish(view(spelled=spelled), engine=engine)


def test_some_identifiers_may_look_like_decimals(tmp_path: Path) -> None:
    mixed = pl.concat([view(40, spelled="{}e5"), view(20, 41, "{}f5")])
    assert made(tmp_path).publish(mixed).rows == 60


@ENGINES
def test_a_series_whose_people_were_always_spelled_so_goes_on(
    tmp_path: Path, engine: Engine | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from republish.publishing import one_process

    with monkeypatch.context() as earlier:
        earlier.setattr(one_process, "require_whole", lambda *_: None)
        series = made(tmp_path, view(spelled="{}.0"))
    assert series.publish(view(59, spelled="{}.0"), engine=engine).arrivals.new == 0


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["publish", *map(str, arguments)], standalone_mode=False)
    said = str(done.exception) if done.exception else done.output
    return getattr(done.exception, "exit_code", done.exit_code), said


@pytest.mark.parametrize(
    ("second", "flag"),
    [(view(0), "--fewer-rows"), (view(spelled="q{}"), "--new-people")],
    ids=["fewer", "new"],
)
def test_the_command_refuses_until_it_is_told(tmp_path: Path, second: pl.DataFrame, flag: str) -> None:
    series = made(tmp_path, view())
    second.write_csv(tmp_path / "second.csv")
    code, said = command(series.root, tmp_path / "second.csv")
    assert code == 1
    assert flag in said
    code, said = command(series.root, tmp_path / "second.csv", flag, "--json")
    assert code == 0
    assert json.loads(said)["meant"] == [flag.removeprefix("--")]


FORMS: list[tuple[list[str], str, str]] = [
    (["strip"], " p{} ", "p{}"),
    (["lower-case"], "P{}", "p{}"),
    (["drop-leading-zeros"], "{:06}", "{}"),
    (["drop-point-zero"], "{}.0", "{}"),
    (["drop-point-zero", "strip", "drop-leading-zeros"], " {:06}.00", "{}"),
]


def normal(folder: Path, forms: list[str]) -> Series:
    schema = Schema("patient", [Number("age")], Category("dx"), normal=forms)
    return Series.create(folder / "s", schema, TauSafety(2), seed=3)


@ENGINES
@pytest.mark.parametrize(("forms", "one", "other"), FORMS)
def test_a_normal_form_recognises_other_spellings(
    tmp_path: Path, engine: Engine | None, forms: list[str], one: str, other: str
) -> None:
    series = normal(tmp_path, forms)
    series.publish(view(spelled=one), engine=engine)
    reopened = Series.open(series.root)
    done = reopened.publish(view(spelled=other), engine=engine, meant=["same-view"])
    assert done.meant == ("same-view",)
    assert (done.arrivals.new, done.arrivals.left) == (0, 0)


@ENGINES
def test_two_rows_that_are_equal_in_the_normal_form_are_one_person(
    tmp_path: Path, engine: Engine | None
) -> None:
    twice = pl.concat([view(), view(1, spelled="0{}")])
    with pytest.raises(ViewError, match=r"1 rows.* repeat an identifier"):
        normal(tmp_path, ["drop-leading-zeros"]).publish(twice, engine=engine)


def test_nothing_but_spaces_is_no_identifier(tmp_path: Path) -> None:
    blank = pl.concat([view(), view(1, spelled="  ")])
    with pytest.raises(ViewError, match="1 of 61 rows have none"):
        normal(tmp_path, ["strip"]).publish(blank)


def test_people_are_forgotten_in_the_normal_form(tmp_path: Path) -> None:
    from republish.publishing.maintenance import forget

    series = normal(tmp_path, ["drop-leading-zeros"])
    series.publish(view())
    listed = pl.DataFrame({"patient": ["0001", "1", "02"]})
    assert (forget(series, listed).asked, series.memory().size) == (2, 58)


def test_pseudonyms_are_those_of_the_normal_form(tmp_path: Path) -> None:
    assert (
        normal(tmp_path, ["lower-case"])
        .pseudonyms(["Ab"])
        .equals(Series.open(tmp_path / "s").pseudonyms(["aB"]))
    )


@pytest.mark.parametrize("wrong", ["upper", 5, ["strip", "x"]])
def test_a_normal_form_is_made_of_known_steps(wrong: object) -> None:
    from republish.errors import SchemaError

    with pytest.raises(SchemaError, match="strip, lower-case, drop-point-zero, drop-leading-zeros"):
        Schema("patient", [Number("age")], normal=wrong)  # type: ignore[arg-type]


def test_a_normal_form_is_written_in_the_schema(tmp_path: Path) -> None:
    from republish import read_schema
    from republish.schema import schema_to_mapping

    text = '[columns.patient]\nrole = "identifier"\nnormal = ["lower-case", "strip"]\n'
    path = tmp_path / "schema.toml"
    path.write_text(text + '[columns.age]\nrole = "quasi-identifier"\nkind = "number"\n', encoding="utf-8")
    schema = read_schema(path)
    assert schema.normal == ("strip", "lower-case")
    assert schema_to_mapping(schema, {})["columns"]["patient"]["normal"] == ["strip", "lower-case"]
    assert schema.with_hierarchies({}).normal == schema.normal


def test_compromised_records_are_read_in_the_normal_form(tmp_path: Path) -> None:
    from republish import JSReduce

    schema = Schema("patient", [Number("age")], Category("dx"), normal=["drop-leading-zeros"])
    series = Series.create(tmp_path / "s", schema, JSReduce(4, 0.7, 0.9, crowd=4), seed=3)
    known = pl.DataFrame({"patient": ["0005"], "dx": ["d0"], "p": [1.0]})
    assert series.publish(view(), compromised=known).rows == 60


@ENGINES
def test_values_that_are_others_but_for_case_or_blanks_are_counted_and_not_shown(
    tmp_path: Path, engine: Engine | None
) -> None:
    schema = Schema("id", [Number("age"), Category("town")], "dx")
    series = Series.create(tmp_path / "s", schema, Mondrian(3), one_table=True)
    town, dx = ["Oakham", "oakham ", "Elmton", "ashby"] * 15, ["Gout", "gout", " GOUT", "ague", "flu"] * 12
    view = pl.DataFrame({"id": range(60), "age": [30, 31, 32] * 20, "town": town, "dx": dx})
    done = series.publish(view, engine=engine)
    assert done.alike == {"town": 1, "dx": 2}
    said = words_on_release(series.records[0].payload, keeps_counts=False)
    assert said[-2].startswith("warning: column dx: 2 values are others but for case or blanks")
    assert "gout" not in "".join(said).lower()
