"""Files that others wrote: a draft takes their word for digests, and looks that the files are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from republish import LedgerError
from republish.ledger import Draft, Ledger, draft
from republish.ledger.files import measure, split_name


@pytest.fixture(params=["folder", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A fresh ledger, alone or with a store."""
    if request.param == "memory":
        pytest.importorskip("upath")
    store = None if request.param == "folder" else f"memory://{tmp_path.name}/drafts"
    with Ledger.create(tmp_path / "series", {}, store=store) as made:
        yield made


def written(opened: Draft) -> dict[str, dict[str, Any]]:
    """Two parts of a table and two of a membership, as executors write them, with what they say of them."""
    (opened.folder / "table.parquet").mkdir()
    tables = [opened.folder / "table.parquet" / f"part-{part:05d}.parquet" for part in range(2)]
    paths = [*tables, *opened.private_files("membership", 2)]
    for number, path in enumerate(paths):
        path.write_bytes(b"x" * (number + 1))
    return {opened.name(path): measure(path) for path in paths}


def test_private_parts_have_names_that_sort_and_that_the_ledger_accepts(ledger: Ledger) -> None:
    with ledger.lock("publish"), ledger.stage(1) as opened:
        names = [opened.name(path) for path in opened.private_files("membership", 12)]
        more = [opened.name(path) for path in opened.private_files("membership", 1)]
        alone = opened.name(opened.private_file("membership"))
    assert names[0] == f"private/membership/0001-{opened.token}-00000.parquet"
    assert names == sorted(names)
    assert more == [f"private/membership/0001-{opened.token}-00012.parquet"]
    assert len({*names, *more, alone}) == 14
    assert [split_name(name) for name in names] == [(None, name) for name in names]
    with pytest.raises(ValueError, match="one of the kinds"):
        opened.private_files("secret", 1)


def test_adopted_files_are_committed_and_not_transferred_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ledger.lock("publish"), ledger.stage(1) as opened:
        told = written(opened)
        opened.adopt(told)
        with monkeypatch.context() as patch:
            if not ledger.layout.renames:
                patch.setattr(draft, "measure", lambda path: pytest.fail(f"{path} was read"))
            entry = ledger.commit(opened, "release", {}, ledger.head)
    assert entry.payload["files"] == told
    assert not ledger.check()
    assert (ledger.folder(1) / "table.parquet" / "part-00001.parquet").read_bytes() == b"xx"


@pytest.mark.parametrize("harm", ["missing", "shorter"])
@pytest.mark.parametrize("which", [0, 3])
def test_an_adopted_file_that_is_not_as_announced_commits_nothing(
    ledger: Ledger, harm: str, which: int
) -> None:
    with ledger.lock("publish"), ledger.stage(1) as opened:
        told = written(opened)
        opened.adopt(told)
        name = list(told)[which]
        path = opened.folder / name.split("/", 2)[2] if which == 0 else ledger.path(name)
        path.unlink()
        if harm == "shorter":
            path.write_bytes(b"")
        with pytest.raises(LedgerError, match=r"1 files of the release are not those|was announced"):
            ledger.commit(opened, "release", {}, ledger.head)
    assert not ledger.releases()
    assert not ledger.check()


def test_a_digest_that_was_told_wrongly_commits_nothing_or_is_found_by_verify(ledger: Ledger) -> None:
    with ledger.lock("publish"), ledger.stage(1) as opened:
        told = written(opened)
        name = next(iter(told))
        opened.adopt(told | {name: told[name] | {"digest": "0" * 64}})
        if ledger.layout.renames:
            with pytest.raises(LedgerError, match="are not those that were checked"):
                ledger.commit(opened, "release", {}, ledger.head)
            return
        ledger.commit(opened, "release", {}, ledger.head)
    assert ledger.check() == [f"{name} was altered: its digest does not match the ledger"]
