"""`republish attack`: every attack summed up alike, over time, drawn, and on tables of another tool."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from attack_command import document, said
from republish import LDiversity, Mondrian, PolicyError, Series, ViewError, read_schema
from republish.attacks import EXCLUDES, KINDS, Adversary, Target, attack, history_of, names, over_time

pytestmark = pytest.mark.jit
SHARED = {
    "people", "determined", "determined_share", "above_nine_tenths", "above_half", "mean_confidence",
    "worst_confidence", "gain",
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, hospital_folder: Path) -> Path:
    """Three releases of one-table groups, their raw views, and their tables as if another tool had made them."""
    root = tmp_path_factory.mktemp("attacked")
    schema = read_schema(hospital_folder / "schema.toml")
    series = Series.create(root / "s", schema, Mondrian(3, (LDiversity(2),)), seed=3, one_table=True)
    for folder in ("views", "tables"):
        (root / folder).mkdir()
    for week, view in enumerate(sorted((hospital_folder / "views").iterdir())[:3], start=1):
        series.publish(view, as_of=f"2026-03-{week:02d}")
        shutil.copy(view, root / "views" / view.name)
        shutil.copy(series.root / "releases" / f"{week:04d}" / "table.csv", root / "tables" / view.name)
    series.ledger.close()
    return root


def test_every_attack_has_the_same_figures(root: Path, hospital_folder: Path) -> None:
    found = document(
        root / "s", "--truth", root / "views", "--knowledge", hospital_folder / "knowledge", "--compromised", "0.1"
    )  # fmt: skip
    assert [one["attack"] for one in found["summaries"]] == [
        name for name in KINDS if name not in found["left_out"]
    ]
    assert set(found["left_out"]) == {"minimality", "suppression"}
    assert {"linear", "beliefs", "joint", "matched"} <= {one["attack"] for one in found["summaries"]}
    for one in found["summaries"]:
        assert set(one) == {"attack", "overall", "releases"}
        assert set(one["overall"]) == SHARED
        assert [set(part) for part in one["releases"]] == [{"release", *SHARED}] * 3


def test_the_command_finds_what_python_finds(root: Path) -> None:
    found = document(
        root / "s", "--attack", "tau,historical", "--compromised", "0.1", "--seed", "4", "--over-time"
    )
    series = Series.open(root / "s")
    adversary = Adversary(0.1, seed=4)
    target = Target(history_of(series))
    for one, result in zip(found["summaries"], attack(series, adversary, ["tau", "historical"]), strict=True):
        assert one["overall"] == asdict(result.summary)
        after = over_time(target, adversary, result.name)
        assert one["after_release"] == [{"release": i, **asdict(part)} for i, part in enumerate(after, 1)]
    series.ledger.close()


def test_all_says_what_was_left_out_and_why(root: Path) -> None:
    found = document(root / "s")
    assert list(found["left_out"]) == ["beliefs", "joint", "matched", "minimality", "suppression"]
    assert [one["attack"] for one in found["summaries"]] == names(EXCLUDES)
    text = said(root / "s", "--attack", "all")
    assert "matched: left out, for it looks people up by their quasi-identifiers; give the raw views" in text
    assert "joint: left out, for it needs to know how values follow each other" in text


def test_an_adversary_who_matches_is_weaker(root: Path) -> None:
    found = document(root / "s", "--truth", root / "views", "--membership", "matched")
    (matched,) = found["summaries"]
    assert matched["attack"] == "matched"
    (strong,) = document(root / "s", "--attack", "tau")["summaries"]
    assert matched["overall"]["mean_confidence"] < strong["overall"]["mean_confidence"]
    assert "matches quasi-identifiers" in said(
        root / "s", "--truth", root / "views", "--membership", "matched"
    )


def test_over_time_is_a_line_for_each_release(root: Path) -> None:
    text = said(root / "s", "--attack", "intersection,tau", "--over-time")
    assert "determined after each release, of everyone until then" in text
    assert "mean confidence after each release, of everyone until then" in text
    assert "after  intersection" in text


def test_tables_of_another_tool_are_attacked_like_a_series(root: Path, hospital_folder: Path) -> None:
    schema = hospital_folder / "schema.toml"
    other = document(root / "tables", "--schema", schema, "--truth", root / "views")
    mine = document(root / "s", "--truth", root / "views")
    assert [one["attack"] for one in other["summaries"]] == [one["attack"] for one in mine["summaries"]]
    for ours, theirs in zip(mine["summaries"], other["summaries"], strict=True):
        if ours["attack"] != "linear":  # whose worlds are drawn
            assert theirs["overall"] == pytest.approx(ours["overall"])
    assert "0 rows of 1,200 could also be of other groups" in said(
        root / "tables", "--schema", schema, "--truth", root / "views", "--attack", "intersection"
    )


@pytest.mark.parametrize(
    "more, error, message",
    [
        ([], ViewError, "do not say who is in which group; give the raw views"),
        (["--truth", "views", "--knowledge", "nowhere"], PolicyError, "not read from tables of another tool"),
        (["--truth", "tables/001.csv"], ViewError, "must be a folder of raw views"),
    ],
)
def test_wrong_use_with_tables_is_refused(
    root: Path, hospital_folder: Path, more: list[str], error: type[Exception], message: str
) -> None:
    given = [str(root / part) if not part.startswith("--") else part for part in more]
    with pytest.raises(error, match=message):
        said(root / "tables", "--schema", hospital_folder / "schema.toml", *given)


def test_nobody_is_named(root: Path) -> None:
    series = Series.open(root / "s")
    people = history_of(series).names
    series.ledger.close()
    assert people is not None
    text = said(root / "s", "--over-time", "--json")
    assert not any(person in text for person in people.to_list())


# The picture --------------------------------------------------------------------------------------

pyplot = pytest.importorskip("matplotlib.pyplot")

from republish.plots import attacks_figure  # noqa: E402


def test_curves_are_what_is_found_after_each_release(root: Path) -> None:
    series = Series.open(root / "s")
    target = Target(history_of(series))
    series.ledger.close()
    found = {name: over_time(target, Adversary(0.1), name) for name in ("tau", "compromised")}
    determined, above, mean = attacks_figure(found).axes
    for panel, figure, scale in (
        (determined, "determined_share", 100),
        (above, "above_nine_tenths", 100),
        (mean, "mean_confidence", 1),
    ):
        curves = {line.get_label(): line for line in panel.get_lines()}
        assert list(curves) == ["tau", "compromised"]
        for name, parts in found.items():
            assert list(curves[name].get_xdata()) == [1, 2, 3]
            assert curves[name].get_ydata() == pytest.approx(
                [scale * getattr(part, figure) for part in parts]
            )
        assert panel.get_xlabel() == "after release"
        assert panel.get_ylabel()
        assert len({line.get_color() for line in panel.get_lines()}) == 2
    pyplot.close("all")


def test_the_command_draws_all_attacks(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "attacks.png"
    assert f"drawn to {path}" in said(root / "s", "--attack", "intersection,tau", "--plot", path).replace(
        "\n", ""
    )
    assert path.read_bytes().startswith(b"\x89PNG")
    assert int.from_bytes(path.read_bytes()[16:20], "big") == 800  # pixels wide
    assert pyplot.get_fignums() == []
