from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from desk_client import TestClient, csv, desk, ended, make_series, upload, view
from republish.show import numbers
from republish.web import Busy, DeskError, NotFound, TooLarge, WrongType
from republish.web.uploads import uploads
from republish.web.uploads.parquet_size import contents
from republish.web.uploads.uploads import Uploads

LIMIT = 20_000


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Uploads]:
    made = Uploads(LIMIT, tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("desk")
    make_series(folder / "visits", 1)
    (folder / "private uploads").mkdir()
    with desk(folder, upload_limit=LIMIT, uploads_in=folder / "private uploads") as client:
        yield client


def files(client: TestClient) -> list[Path]:
    """Whatever lies in the folder of uploads."""
    folder = client.app.state.desk.uploads.folder  # type: ignore[attr-defined]
    return [path for path in folder.rglob("*") if path.is_file() and path.name != ".held"]


def test_a_view_is_kept_for_its_owner_alone_under_a_name_of_ours(kept: Uploads) -> None:
    found = kept.take(io.BytesIO(csv()))
    assert found.format == "csv"
    assert found.path.read_bytes() == csv()
    assert found.path.parent.parent == kept.folder
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700
    assert "path" not in found.as_dict()


def test_parquet_is_known_by_what_it_holds(kept: Uploads) -> None:
    data = io.BytesIO()
    view().write_parquet(data)
    assert kept.take(io.BytesIO(data.getvalue())).format == "parquet"
    with pytest.raises(WrongType, match="does not end"):
        kept.take(io.BytesIO(data.getvalue()[:-10]))
    with pytest.raises(WrongType):
        kept.take(io.BytesIO(b"PAR1"))


def parquet(table: pl.DataFrame) -> bytes:
    data = io.BytesIO()
    table.write_parquet(data)
    return data.getvalue()


def test_a_small_parquet_file_with_a_huge_table_is_refused(kept: Uploads) -> None:
    bombs = {
        "cells": pl.DataFrame({"a": pl.repeat(1, 100_000, eager=True)}),
        "unpacked": pl.DataFrame({"a": [f"{'x' * 50_000}{n}" for n in range(20)]}),
    }
    for words, table in bombs.items():
        data = parquet(table)
        assert len(data) < LIMIT
        with pytest.raises(TooLarge, match=words):
            kept.take(io.BytesIO(data))
    assert [path.name for path in kept.folder.iterdir()] == [".held"]


@pytest.mark.parametrize("groups", [None, 7])
def test_the_footer_tells_cells_and_bytes(tmp_path: Path, groups: int | None) -> None:
    table = view().with_columns(pl.lit(None).alias("none"), pl.lit(1.5).alias("x"), pl.lit(True).alias("y"))
    table.write_parquet(tmp_path / "t", row_group_size=groups)
    cells, unpacked = contents(tmp_path / "t")
    assert cells == 90 * 7
    assert 500 < unpacked < 50_000
    lists = pl.DataFrame({"a": [[1] * 1000] * 3})
    lists.write_parquet(tmp_path / "l")
    assert contents(tmp_path / "l")[0] == 3000


@given(st.data())
def test_a_footer_of_any_bytes_is_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(parquet(view(rows=5)))
    length = int.from_bytes(whole[-8:-4], "little")
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(len(whole) - 8 - length, len(whole) - 5))] = data.draw(
            st.integers(0, 255)
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        path.write_bytes(whole)
        with suppress(ValueError):
            assert min(contents(path)) >= 0


@pytest.mark.parametrize(
    "data, what",
    [
        (b"PK\x03\x04 xlsx", "xlsx file does not say what it holds"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"%PDF-1.7", "PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        (b"$FL2 sav", "sav file does not say what it holds"),
        (b"<stata_dta><header>", "dta file does not say what it holds"),
    ],
)
def test_other_files_are_refused_and_not_kept(kept: Uploads, data: bytes, what: str) -> None:
    with pytest.raises(WrongType, match=what):
        kept.take(io.BytesIO(data))
    assert [path.name for path in kept.folder.iterdir()] == [".held"]


@pytest.mark.parametrize("data", [b"", b"  \n\n"])
def test_an_empty_file_is_refused(kept: Uploads, data: bytes) -> None:
    with pytest.raises(DeskError, match="empty"):
        kept.take(io.BytesIO(data))


def test_the_limit_holds_for_what_is_read(kept: Uploads) -> None:
    kept.take(io.BytesIO(b"x" * LIMIT))
    with pytest.raises(TooLarge, match=r"--upload-limit"):
        kept.take(io.BytesIO(b"x" * (LIMIT + 1)))
    assert len(list(kept.folder.iterdir())) == 2


def test_there_are_only_so_many_at_once(kept: Uploads) -> None:
    for _ in range(20):
        kept.take(io.BytesIO(b"a,b\n"))
    with pytest.raises(Busy, match="at most 20"):
        kept.take(io.BytesIO(b"a,b\n"))


def test_an_upload_goes_after_an_hour_but_not_while_it_is_read(
    kept: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle, read = (kept.take(io.BytesIO(b"a,b\n1,2\n")) for _ in range(2))
    kept.use(read.id)
    with pytest.raises(Busy):
        kept.remove(read.id)
    later = uploads.time.monotonic() + 4000
    monkeypatch.setattr(uploads.time, "monotonic", lambda: later)
    with pytest.raises(NotFound):
        kept.get(idle.id)
    assert not idle.path.exists()
    assert kept.get(read.id).path.exists()
    kept.release(read.id)
    kept.remove(read.id)
    assert not read.path.exists()


def test_an_upload_that_two_read_goes_with_the_last_of_them(kept: Uploads) -> None:
    found = kept.take(io.BytesIO(b"a,b\n1,2\n"))
    kept.use(found.id)
    kept.use(found.id)
    kept.release(found.id, erase=True)
    assert found.path.exists()
    kept.release(found.id)
    assert not found.path.exists()


def test_what_a_killed_desk_left_is_erased_and_what_a_live_one_has_is_not(tmp_path: Path) -> None:
    live, dead = Uploads(LIMIT, tmp_path), Uploads(LIMIT, tmp_path)
    (dead.folder / "raw").write_text("left")
    assert dead._held is not None
    os.close(dead._held)  # as the system does when a process is killed
    linked = tmp_path / "republish-desk-linked"
    linked.symlink_to(live.folder)
    after = Uploads(LIMIT, tmp_path)
    assert not dead.folder.exists()
    assert live.folder.exists()
    assert linked.is_symlink()
    live.close()
    after.close()
    assert not live.folder.exists()


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/passwd", "a\0b.csv", "series.toml", "x" * 300, "..", "?.xlsx"]
)
def test_the_name_of_a_file_is_never_a_path(client: TestClient, name: str) -> None:
    answer = client.post("/api/uploads", files={"file": (name, csv(), "text/csv")})
    assert answer.status_code == 201
    found = client.app.state.desk.uploads.get(answer.json()["id"])  # type: ignore[attr-defined]
    assert found.path.name == "view.csv"
    assert client.delete(f"/api/uploads/{found.id}").status_code == 204
    assert client.delete(f"/api/uploads/{found.id}").status_code == 404
    assert not found.path.exists()


@pytest.mark.parametrize("form", [True, False])
def test_too_much_is_413_and_leaves_nothing(client: TestClient, form: bool) -> None:
    before = len(files(client))
    data = b"a,b\n" * 600_000
    if form:
        answer = client.post("/api/uploads", files={"file": ("week.csv", data, "text/csv")})
    else:
        answer = client.post("/api/uploads", content=data, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 413
    assert answer.json()["error"]["kind"] == "TooLarge"
    assert len(files(client)) == before


def test_too_much_without_a_length_is_cut_off(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b"a,b\n" * 10_000

    for headers in ({"Content-Type": "text/csv"}, {"Content-Type": "application/json"}):
        answer = client.post("/api/uploads", content=pieces(), headers=headers)
        assert answer.status_code in (413, 415)
    answer = client.post("/api/propose", content=pieces(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert set(answer.json()) == {"error"}


def test_a_page_says_that_a_file_is_too_large(client: TestClient) -> None:
    answer = client.post(
        "/s/visits/publish",
        files={"file": ("week.csv", b"a,b\n" * 600_000, "text/csv")},
        headers={"Accept": "text/html"},
    )
    assert answer.status_code == 413
    assert "too large" in answer.text
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "content, status",
    [
        ("image/png", 415),
        ("application/json", 415),
        ("", 415),
        ("text/csv", 415),
        ("multipart/form-data", 400),
    ],
)
def test_a_wrong_type_is_said(client: TestClient, content: str, status: int) -> None:
    answer = client.post("/api/uploads", content=b"PK\x03\x04", headers={"Content-Type": content})
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}


def test_a_form_without_a_file_is_said(client: TestClient) -> None:
    answer = client.post("/api/uploads", files={"other": ("a.csv", csv(), "text/csv")})
    assert answer.status_code == 400
    assert "file" in answer.json()["error"]["message"]


@pytest.mark.parametrize("outcome", ["done", "failed"])
def test_a_view_is_gone_after_its_publish(client: TestClient, outcome: str) -> None:
    data = csv(2) if outcome == "done" else b"patient,age\n1,2\n"
    found = upload(client, data)
    trial = ended(client, client.post("/api/series/visits/dry-run", json={"upload": found}).json())
    assert trial["state"] == outcome
    assert client.post("/api/series/visits/check", json={"upload": found}).status_code == 200  # still there
    done = ended(client, client.post("/api/series/visits/publish", json={"upload": found}).json())
    assert done["state"] == outcome, done
    assert client.post("/api/series/visits/check", json={"upload": found}).status_code == 404
    assert not [path for path in files(client) if found in str(path)]


def test_nothing_is_left_when_the_desk_is_closed(tmp_path: Path) -> None:
    with desk(make_series(tmp_path / "visits", 0), uploads_in=tmp_path) as client:
        upload(client, csv())
        folder = client.app.state.desk.uploads.folder  # type: ignore[attr-defined]
        assert folder.exists()
    assert not folder.exists()


@pytest.mark.parametrize(
    "size, text", [(1, "1 bytes"), (2048, "2 KB"), (200 * 2**20, "200 MB"), (2**30, "1 GB")]
)
def test_sizes_are_written_as_people_do(size: int, text: str) -> None:
    assert numbers.size(size) == text


def test_a_workbook_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "0" * 2_000_000)
    uploads = Uploads(4_000, tmp_path)
    try:
        with pytest.raises(TooLarge, match="a xlsx file may have"):
            uploads.take(io.BytesIO(bomb.getvalue()))
    finally:
        uploads.close()


def test_text_in_utf_16_is_taken(kept: Uploads) -> None:
    assert kept.take(io.BytesIO("a,b\n1,2\n".encode("utf-16"))).format == "csv"
