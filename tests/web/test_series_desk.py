from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from desk_client import ROLES, csv, make_series, take, view
from republish import Mondrian, PolicyError, RepublishError, Series
from republish.web import Busy, NotFound
from republish.web.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    make_series(tmp_path / "desk" / "visits", 2)
    made = Desk([tmp_path / "desk"], uploads_in=tmp_path)
    yield made
    made.close()


def test_series_are_found_alone_and_in_folders_each_once(tmp_path: Path) -> None:
    make_series(tmp_path / "one", 0)
    make_series(tmp_path / "many" / "one", 0)
    make_series(tmp_path / "many" / "two", 0)
    (tmp_path / "many" / "notes").mkdir()
    roots = [tmp_path / "one", tmp_path / "many", tmp_path / "many" / "two"]
    desk = Desk(roots, uploads_in=tmp_path)
    try:
        assert list(desk.paths()) == ["one", "one-2", "two"]
        assert desk.path("one-2") == tmp_path / "many" / "one"
        assert [one.name for one in desk.series()] == ["one", "one-2", "two"]
        assert desk.home == tmp_path / "many"
    finally:
        desk.close()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="there is no folder"):
        Desk([tmp_path / "none"])


def test_a_series_that_cannot_be_opened_hides_no_other(desk: Desk, tmp_path: Path) -> None:
    broken = tmp_path / "desk" / "broken"
    broken.mkdir()
    (broken / "series.toml").write_text("not toml at all")
    assert [one.name for one in desk.series()] == ["visits"]
    assert list(desk.broken()) == ["broken"]
    assert "not valid TOML" in desk.broken()["broken"]


def test_one_damaged_series_stops_neither_the_desk_nor_its_notices(tmp_path: Path) -> None:
    from republish.web import audit

    make_series(tmp_path / "fine", 1)
    root = make_series(tmp_path / "torn", 1)
    audit.note(root, "publish", "started", job="1", releases=1, pid=2**22 + 1, host="elsewhere")
    (root / "series.toml").write_text("not toml at all")
    desk = Desk([tmp_path], uploads_in=tmp_path)
    try:
        assert desk.notices("torn") == []
        assert [one.name for one in desk.series()] == ["fine"]
        assert list(desk.broken()) == ["torn"]
    finally:
        desk.close()


def test_a_series_whose_facts_cannot_be_read_is_broken(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise KeyError("secret-person-1")

    monkeypatch.setattr(desk, "one", fail)
    assert desk.series() == []
    assert "KeyError" in desk.broken()["visits"]
    assert "secret-person" not in desk.broken()["visits"]


def test_a_folder_whose_name_is_no_text_is_broken(desk: Desk, tmp_path: Path) -> None:
    import os

    folder = tmp_path / "desk" / os.fsdecode(b"week\xff")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    (folder / "series.toml").write_text("")
    assert list(desk.paths()) == ["visits"]
    assert "not UTF-8" in desk.broken()["week\ufffd"]


def test_a_name_keeps_its_folder_while_the_desk_lives(tmp_path: Path) -> None:
    import shutil

    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    make_series(second / "visits", 0)
    desk = Desk([first, second], uploads_in=tmp_path)
    try:
        assert desk.path("visits") == second / "visits"
        make_series(first / "visits", 0)  # would come first in the order of the folders
        assert desk.paths() == {"visits": second / "visits", "visits-2": first / "visits"}
        shutil.rmtree(second / "visits")
        assert desk.paths() == {"visits-2": first / "visits"}
        shutil.rmtree(first / "visits")
        with pytest.raises(Busy):  # the name is that of another folder
            desk.create("visits", take(desk, csv()), ROLES, "tau-safety")
    finally:
        desk.close()


def test_a_damaged_parquet_file_is_a_problem_in_words(desk: Desk) -> None:
    import io

    data = io.BytesIO()
    view().write_parquet(data)
    whole = data.getvalue()
    upload = take(desk, whole)
    path = desk.uploads.get(upload).path
    for damaged in (
        whole[:-40] + b"\xff" * 32 + whole[-8:],
        b"PAR1" + b"\xff" * 200 + whole[204:],
        whole[:-100],
    ):
        path.write_bytes(damaged)
        found = desk.check("visits", upload)
        assert found["fits"] is False
        assert "cannot be read" in found["problems"][0]
        with pytest.raises(RepublishError):
            desk.propose(upload)


def test_a_library_that_gives_up_is_words_and_an_interrupt_is_not() -> None:
    from republish.web.uploads.columns import legible

    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(RepublishError, match="cannot be read") as found, legible():
        raise panic("secret-person-1")
    assert "secret-person" not in str(found.value)
    with pytest.raises(KeyboardInterrupt), legible():
        raise KeyboardInterrupt


def test_facts_are_fresh(desk: Desk, tmp_path: Path) -> None:
    assert len(desk.one("visits").releases) == 2
    Series.open(tmp_path / "desk" / "visits").publish(view(3))
    assert len(desk.one("visits").releases) == 3
    assert desk.one_release("visits", 3).number == 3
    with pytest.raises(NotFound):
        desk.one_release("visits", 4)


def test_a_picture_of_one_quasi_identifier_has_sizes_and_no_boxes(tmp_path: Path) -> None:
    from republish import Category, Number, Schema

    schema = Schema("patient", [Number("age")], Category("diagnosis"))
    Series.create(tmp_path / "s", schema, Mondrian(5), seed=1).publish(view(1).drop("ward"))
    desk = Desk([tmp_path / "s"], uploads_in=tmp_path)
    try:
        found = desk.release_picture("s", 1)
        assert found["boxes"] == []
        assert found["histogram"]
    finally:
        desk.close()


def test_a_picture_has_at_most_5000_boxes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from republish.web import documents

    groups = desk.release_picture("visits", 1)["groups"]
    monkeypatch.setattr(documents, "MOST_BOXES", 7)
    found = desk.release_picture("visits", 1)
    assert len(found["boxes"]) == 7
    assert found["left_out"] == groups - 7


def test_labels_are_given_only_where_the_schema_lists_them(tmp_path: Path) -> None:
    from republish import Category, Number, Schema

    wards = ("ward0", "ward1", "ward2", "ward3", "ward4")
    schema = Schema("patient", [Number("age"), Category("ward", domain=wards)], Category("diagnosis"))
    Series.create(tmp_path / "s", schema, Mondrian(5), seed=1).publish(view(1))
    desk = Desk([make_series(tmp_path / "open", 1), tmp_path / "s"], uploads_in=tmp_path)
    try:
        listed = desk.release_picture("s", 1, ("age", "ward"))["about_axes"][1]
        assert listed["labels"] == list(wards)
        assert desk.release_picture("open", 1, ("age", "ward"))["about_axes"][1]["labels"] == []
    finally:
        desk.close()


def test_frontiers_are_read_and_broken_files_passed_over(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "desk" / "visits" / "private" / "tune"
    folder.mkdir()
    (folder / "b.json").write_text(
        json.dumps({"made_at": "2026-01-02", "limits": {}, "points": [], "chosen": None})
    )
    (folder / "a.json").write_text(
        json.dumps({"made_at": "2026-01-03", "limits": {}, "points": [], "chosen": None})
    )
    (folder / "c.json").write_text("{")
    (folder / "d.json").write_text("[]")
    assert [one["made_at"] for one in desk.tuned("visits")] == ["2026-01-02", "2026-01-03"]
