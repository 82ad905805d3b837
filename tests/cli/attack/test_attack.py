"""`republish attack`: every attack summed up alike, over time, drawn, and on tables of another tool."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from attack_command import document, said
from republish import LDiversity, Mondrian, PolicyError, Series, ViewError, read_schema
from republish.attacks import (
    EXCLUDES,
    KINDS,
    Adversary,
    Findings,
    History,
    Summary,
    Target,
    Unclear,
    attack,
    history_of,
    names,
    over_time,
)
from republish.attacks.assessments import kept
from republish.attacks.linear import LinearFindings
from republish.cli.attack.options import AttackOptions
from republish.report import facts_of

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
    assert [one["attack"] for one in (*found["summaries"], *found["identities"])] == [
        name for name in KINDS if name not in found["left_out"]
    ]
    assert set(found["left_out"]) == {"gathering", "halving", "minimality", "suppression", "swap"}
    assert "nothing is told of how this publisher puts people together" in found["left_out"]["gathering"]
    assert {"linear", "beliefs", "joint", "matched"} <= {one["attack"] for one in found["summaries"]}
    for one in found["summaries"]:
        budget = {"unclear"} if one["attack"] == "linear" else set()
        assert set(one) == {"attack", "overall", "releases", *budget}
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
    assert list(found["left_out"]) == [
        "beliefs", "joint", "gathering", "halving", "matched", "linkage", "presence", "bcf", "tracing",
        "minimality", "suppression",
        "swap",
    ]  # fmt: skip
    assert [one["attack"] for one in found["summaries"]] == names(EXCLUDES)
    text = said(root / "s", "--attack", "all")
    assert "matched: left out, for it looks people up by their quasi-identifiers; give the raw views" in text
    assert "joint: left out, for it needs to know how values follow each other" in text


def test_an_adversary_who_matches_is_weaker(root: Path) -> None:
    found = document(root / "s", "--truth", root / "views", "--membership", "matched")
    (matched,) = found["summaries"]
    assert matched["attack"] == "matched"
    assert [one["attack"] for one in found["identities"]] == ["linkage", "presence", "bcf", "tracing"]
    (strong,) = document(root / "s", "--attack", "tau")["summaries"]
    assert matched["overall"]["mean_confidence"] < strong["overall"]["mean_confidence"]
    text = said(
        root / "s", "--truth", root / "views", "--membership", "matched", "--compromised", "0.1"
    ).replace("\n", " ")
    assert (
        "the adversary matches quasi-identifiers to groups; she knows when people came, changed and left, and the "
        "values of 10.0% of them"
    ) in text
    text = said(root / "s", "--attack", "intersection")
    assert "the adversary knows who is in which group, and when people came, changed and left\n" in text
    alone = said(root / "s", "--attack", "intersection", "--no-events")
    assert "the adversary knows who is in which group\n" in alone
    alone = said(root / "s", "--truth", root / "views", "--membership", "matched", "--no-events")
    assert "the adversary matches quasi-identifiers to groups\n" in alone


def test_an_adversary_who_can_do_nothing_is_refused(root: Path) -> None:
    with pytest.raises(PolicyError, match="no attack can be made with what is given") as refused:
        said(root / "s", "--membership", "matched")
    assert refused.value.exit_code == 2
    assert (
        "matched, linkage, presence, bcf, tracing: it looks people up by their quasi-identifiers; give the raw views "
        "(--truth DIR)" in str(refused.value)
    )
    assert str(refused.value).count("intersection, tau") == 1


def test_whom_the_linear_attack_gave_up_on_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = document(root / "s", "--attack", "linear,tau")
    assert everything["summaries"][0]["unclear"] == everything["attacks"][0]["unclear"]
    assert set(everything["summaries"][0]["unclear"]) == {"people", "undecided", "unsettled", "unsolved"}
    assert "unclear" not in everything["summaries"][1]
    unclear = Unclear(people=7, undecided=9, unsettled=3, unsolved=1200)
    monkeypatch.setattr(LinearFindings, "unclear", lambda *_: unclear)
    (found,) = document(root / "s", "--attack", "linear")["summaries"]
    assert found["unclear"] == asdict(unclear)
    text = said(root / "s", "--attack", "linear")
    assert (
        f"linear: 7 more people ({7 / found['overall']['people']:.1%}, 9 episodes) are undecided: the budget ran "
        "out before a second value was found, so they may be determined too\n"
        "linear: the probabilities of 3 episodes had not settled\n"
        "linear: the equations of 1,200 episodes were too many to solve, and they were only searched\n"
    ) in text


def test_a_seed_below_0_is_refused(root: Path) -> None:
    with pytest.raises(PolicyError, match="seed must be a whole number from 0 on; found -1"):
        said(root / "s", "--seed", "-1")


def test_too_many_raw_views_say_how_to_choose(root: Path, tmp_path: Path) -> None:
    for number, view in enumerate([*sorted((root / "views").iterdir()), root / "views" / "001.csv"]):
        shutil.copy(view, tmp_path / f"{number}.csv")
    with pytest.raises(ViewError) as refused:
        said(root / "s", "--truth", tmp_path)
    assert str(refused.value) == (
        "--truth needs one raw view a release: 3 releases, 4 files. Files are taken in the order of their names, the "
        "first for release 1; move or remove those that belong to no release"
    )
    (tmp_path / "0.csv").unlink()
    (tmp_path / "1.csv").unlink()
    with pytest.raises(ViewError, match="add the views that are missing"):
        said(root / "s", "--truth", tmp_path)


def test_no_attack_is_made_twice(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from republish.attacks.excluding import tau

    made = []
    original = tau.tau

    def watched(history: History) -> Findings:
        made.append(history.releases)
        return original(history)

    monkeypatch.setattr(tau, "tau", watched)
    document(root / "s", "--attack", "tau", "--over-time")
    assert sorted(made) == [1, 2, 3]


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
        (["--truth", "views", "--attack", "beliefs"], PolicyError, "not read from tables of another tool"),
        (["--truth", "tables/001.csv"], ViewError, "must be a folder of raw views"),
    ],
)
def test_wrong_use_with_tables_is_refused(
    root: Path, hospital_folder: Path, more: list[str], error: type[Exception], message: str
) -> None:
    given = [part if part.startswith("--") or part == "beliefs" else str(root / part) for part in more]
    with pytest.raises(error, match=message) as refused:
        said(root / "tables", "--schema", hospital_folder / "schema.toml", *given)
    assert "give --knowledge" not in str(refused.value)


def test_all_on_tables_does_not_advise_what_is_refused(root: Path, hospital_folder: Path) -> None:
    found = document(root / "tables", "--schema", hospital_folder / "schema.toml", "--truth", root / "views")
    assert found["left_out"]["beliefs"] == found["left_out"]["joint"]
    assert "not read from tables of another tool" in found["left_out"]["beliefs"]


def test_a_series_is_no_folder_of_tables(root: Path, hospital_folder: Path) -> None:
    with pytest.raises(PolicyError, match="this is a series; leave --schema out"):
        said(root / "s", "--schema", hospital_folder / "schema.toml", "--truth", root / "views")


def test_what_is_unclear_about_tables_is_in_json_too(root: Path, hospital_folder: Path) -> None:
    given = (
        "--schema",
        hospital_folder / "schema.toml",
        "--truth",
        root / "views",
        "--attack",
        "intersection",
    )
    found = document(root / "tables", *given)
    assert found["assignment"] == {"rows": 1200, "elsewhere": 0, "left_out": 0, "nobodys": 0}
    assert len(found["notes"]) == 1
    assert found["notes"][0] in said(root / "tables", *given).replace("\n", " ")
    mine = document(root / "s", "--attack", "intersection")
    assert mine["notes"] == []
    assert "assignment" not in mine


def test_one_assignment_of_many_is_not_said_to_be_sure(tmp_path: Path) -> None:
    """Two groups that both fit nearly everybody."""
    for folder in ("tables", "views"):
        (tmp_path / folder).mkdir()
    (tmp_path / "schema.toml").write_text(
        '[columns.id]\nrole = "identifier"\n[columns.age]\nrole = "quasi-identifier"\nkind = "number"\n'
        '[columns.dx]\nrole = "sensitive"\nkind = "category"\n'
    )
    for week in "12":
        (tmp_path / "views" / f"{week}.csv").write_text("id,age,dx\np,21,a\nq,22,b\nr,23,a\ns,24,b\nt,90,c\n")
        (tmp_path / "tables" / f"{week}.csv").write_text(
            "age,dx\n[20-30],a\n[20-30],b\n[20-31],a\n[20-31],b\n[20-31],d\n"
        )
    given = (tmp_path / "tables", "--schema", tmp_path / "schema.toml", "--truth", tmp_path / "views")
    found = document(*given)
    assert found["assignment"] == {"rows": 8, "elsewhere": 8, "left_out": 2, "nobodys": 2}
    assert len(found["notes"]) == 2
    assert "that of one assignment out of many" in found["notes"][1]
    text = said(*given).replace("\n", " ")
    assert "the adversary knows one assignment of people to groups out of many" in text
    assert (
        "determined: only one value is left under one assignment of people to groups, of many that fit"
        in text
    )
    assert "knows who is in which group" not in text


def test_nobody_is_named(root: Path) -> None:
    series = Series.open(root / "s")
    people = history_of(series).names
    series.ledger.close()
    assert people is not None
    text = said(root / "s", "--over-time", "--json")
    assert not any(person in text for person in people.to_list())


# The picture --------------------------------------------------------------------------------------

pyplot = pytest.importorskip("matplotlib.pyplot")

from republish.show.plots import attacks_figure  # noqa: E402


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


def drawn(share: float, mean: float, releases: int = 12) -> tuple[Summary, ...]:
    return tuple(
        Summary(1000, 0, share * i / releases, share, share, mean, 1.0, 0.0) for i in range(1, releases + 1)
    )


def test_what_is_near_nothing_can_be_read() -> None:
    determined, above, mean = attacks_figure({"tau": drawn(0.003, 0.16), "linear": drawn(0.006, 0.17)}).axes
    for panel in (determined, above):
        low, high = panel.get_ylim()
        assert -0.1 < low < 0
        assert 0.6 < high < 0.8  # percent
    low, high = mean.get_ylim()
    assert low < 0.15
    assert 0.18 < high < 0.3
    nothing = attacks_figure({"tau": drawn(0.0, 0.0)}).axes
    assert [panel.get_ylim()[1] for panel in nothing] == pytest.approx([0.108, 0.108, 0.108])
    everything = attacks_figure({"tau": drawn(1.0, 1.0)}).axes
    assert [panel.get_ylim()[1] for panel in everything] == pytest.approx([102, 102, 1.02], abs=0.03)
    pyplot.close("all")


def test_seven_curves_are_kept_apart() -> None:
    names = list(KINDS)[:7]
    figure = attacks_figure({name: drawn(0.001 * i, 0.2) for i, name in enumerate(names)})
    lines = figure.axes[0].get_lines()
    assert len({line.get_marker() for line in lines}) == 7
    assert len({line.get_color() for line in lines}) == 7
    assert len({str(line.get_markevery()) for line in lines}) > 2
    assert len({line.get_linewidth() for line in lines}) == 7
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names[::-1]  # worst first
    pyplot.close("all")


def test_the_command_draws_all_attacks(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "attacks.png"
    assert f"drawn to {path}" in said(root / "s", "--attack", "intersection,tau", "--plot", path).replace(
        "\n", ""
    )
    assert path.read_bytes().startswith(b"\x89PNG")
    assert int.from_bytes(path.read_bytes()[16:20], "big") == 800  # pixels wide
    assert pyplot.get_fignums() == []


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    return shutil.copytree(root / "s", tmp_path / "s")


def test_what_is_found_is_kept_for_the_report_where_that_is_asked_for(copied: Path) -> None:
    text = said(copied, "--attack", "tau,linear", "--compromised", "0.1", "--seed", "4", "--keep")
    assert "kept for the report: republish report" in text
    (one,) = kept(Series.open(copied))
    assert (list(one.found), one.releases) == (["tau", "linear"], 3)
    assert (one.adversary["compromised"], one.adversary["seed"]) == (0.1, 4)
    assert facts_of(Series.open(copied)).assessment == one
    assert document(copied, "--attack", "tau", "--keep")["kept"] is True


def test_without_it_nothing_is_kept_and_it_says_how(copied: Path) -> None:
    assert "nothing of this is kept; with --keep the report shows it" in said(copied, "--attack", "tau")
    assert kept(Series.open(copied)) == []


def test_what_the_report_cannot_show_is_not_kept(copied: Path, root: Path, hospital_folder: Path) -> None:
    schema = hospital_folder / "schema.toml"
    with pytest.raises(PolicyError, match="--keep is for a series, whose report shows it"):
        said(root / "tables", "--schema", schema, "--truth", root / "views", "--keep")
    with pytest.raises(PolicyError, match="--keep is for one adversary at a time"):
        said(copied, "--steps", "0,1", "--keep")
    with pytest.raises(PolicyError, match="--keep cannot be had with --engine"):
        AttackOptions(keep=True).require_in_parts()
    assert kept(Series.open(copied)) == []
