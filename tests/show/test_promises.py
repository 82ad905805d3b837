"""Words on groups: the fewest real people of one, and a release in which everybody has one value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from republish import JSReduce, LDiversity, Mondrian, Number, Schema, Series, TauSafety
from republish.errors import RepublishError
from republish.knowledge import Bands, Classes, Knowledge
from republish.publishers import Publisher, ValueBlind
from republish.publishing.plausibility import MEANT
from republish.release.forms import TwoTables
from republish.show.promises import ONE_VALUE, spreads_in, words_on_groups, words_on_release


def published(folder: Path, publisher: Publisher, values: str, form: TwoTables | None = None) -> list[str]:
    schema = Schema("id", [Number("age")], "dx")
    series = Series.create(folder, schema, publisher, form=form)
    view = {"id": range(len(values)), "age": [20 + i for i in range(len(values))], "dx": list(values)}
    done = series.publish(pl.DataFrame(view))
    return words_on_groups(done.measures.as_dict(), form is not None)


@pytest.mark.parametrize("publisher", [JSReduce(k=3), Mondrian(3)], ids=["js-reduce", "mondrian"])
@pytest.mark.parametrize("form", [None, TwoTables(3)], ids=["one", "two"])
def test_a_release_of_one_value_is_warned_of(
    tmp_path: Path, publisher: Publisher, form: TwoTables | None
) -> None:
    assert published(tmp_path / "s", publisher, "f" * 12, form) == [f"warning: {ONE_VALUE}"]


def test_groups_of_one_value_among_others_are_not(tmp_path: Path) -> None:
    assert published(tmp_path / "s", Mondrian(3), "ffffffgggggg") == []


def test_a_requirement_keeps_it_back(tmp_path: Path) -> None:
    assert (
        published(tmp_path / "s", JSReduce(k=3, require=(LDiversity(2),)), "f" * 12) == []
    )  # all are left out
    with pytest.raises(RepublishError):
        published(tmp_path / "t", Mondrian(3, (LDiversity(2),)), "f" * 12)


def test_the_fewest_real_people_are_said_where_there_are_counterfeits(tmp_path: Path) -> None:
    assert published(tmp_path / "one", TauSafety(3), "aaabc") == [
        "the group with the fewest has 1 real person beside counterfeits"
    ]
    assert published(tmp_path / "two", TauSafety(3), "aaabc", TwoTables(2)) == [
        "the batch with the fewest has 5 real people beside counterfeits"
    ]
    assert published(tmp_path / "none", TauSafety(3), "abc") == []


def test_measures_of_earlier_releases_say_less() -> None:
    assert words_on_groups({"counterfeits": 3, "levels": {"k": 3}}, two_tables=False) == []


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zones, and who is held by chance, are the same every time."""
    monkeypatch.setattr("republish.secret.secrets.token_hex", lambda size: "1f" * size)


def weekly(folder: Path, ill: int) -> list[str]:
    """What is said of a second week in which so many of 120 people have changed to one value."""
    schema = Schema("id", [Number("age")], "dx")
    series = Series.create(folder, schema, ValueBlind(size=40, n=5), seed=3, form=TwoTables(3))
    for sick in (0, ill):
        dx = ["flu" if i < sick else "abcde"[i % 5] for i in range(120)]
        view = {"id": range(120), "age": [20 + i * 7 % 50 for i in range(120)], "dx": dx}
        done = series.publish(pl.DataFrame(view), meant=MEANT, expect_anyway="an epidemic")
    return words_on_release(done.as_dict(), keeps_counts=True)


@pytest.mark.usefixtures("secret")
def test_batches_that_an_epidemic_holds_are_told_and_warned_of(tmp_path: Path) -> None:
    """Their old values end alone; in a batch of which too few would remain they are counted on."""
    stale, warning, *_ = weekly(tmp_path / "s", 60)
    assert stale == (
        "3 of 3 batches are not as of this release: 0 people are counted as they were before they left or changed, "
        "60 wait to be counted"
    )
    held, stale, *_ = weekly(tmp_path / "t", 110)
    assert held == "the batch with the fewest has 2 real people beside those held"
    assert "110 people are counted as they were" in stale
    assert warning.startswith("warning: counts are stale.")


@pytest.mark.usefixtures("secret")
def test_a_few_who_are_held_are_told_without_a_warning(tmp_path: Path) -> None:
    _, stale = weekly(tmp_path / "s", 2)
    assert "2 people are counted as they were" in stale


@pytest.mark.usefixtures("secret")
def test_nothing_is_said_where_all_batches_are_of_this_release(tmp_path: Path) -> None:
    assert weekly(tmp_path / "s", 0) == []


def test_beliefs_about_everyone_in_the_view_foretell_whether_the_walk_stalls(tmp_path: Path) -> None:
    """Half the people are known to have f, half g: I is one bit."""
    schema = Schema("id", [Number("age")], "dx")
    sure = Knowledge(pl.Series("dx", ["f", "g"]), Classes((Bands("age", (0, 30, 99)),)), np.eye(2))
    view = pl.DataFrame({"id": range(12), "age": [20, 40] * 6, "dx": ["f", "g"] * 6})
    for j, stalls in ((1.2, False), (0.6, True)):
        series = Series.create(tmp_path / str(j), schema, JSReduce(k=3, t=1.0, j=j, knowledge=sure))
        done = series.publish(view)
        (said,) = spreads_in(done.as_dict()["verification"]["checks"])
        assert said.startswith(
            f"beliefs about everyone in the view diverge by I = 1.00 bits; where that is about j = {j}"
        )
        assert said.endswith("it would stall here") == stalls
        (found,) = series.verify().releases.values()
        assert [check.of_view for check in found.checks if check.of_view is not None] == pytest.approx([1.0])
