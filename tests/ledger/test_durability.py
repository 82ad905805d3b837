"""What is committed is on disk: in a process of its own, for the other tests do without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_CHILD = """
import json, os, sys
from pathlib import Path

synced, commits = [], []
real = os.fsync

def fsync(descriptor):
    synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    real(descriptor)

os.fsync = fsync
from republish import Mondrian, Series, read_schema
from republish.ledger import crash_points

crash_points.reach = lambda point: commits.append(len(synced)) if point == "before-commit" else None
root, folder = Path(sys.argv[1]), Path(sys.argv[2])
series = Series.create(root, read_schema(folder / "schema.toml"), Mondrian(5), one_table=True)
synced.clear()
series.publish(sorted((folder / "views").iterdir())[0])
with series.ledger.catalogue._session("write") as connection:
    level = connection.execute("PRAGMA synchronous").fetchone()[0]
named = {**series.record(1).payload["files"]}
print(json.dumps({"synced": synced[: commits[0]], "named": sorted(named), "level": level}))
"""


def test_every_file_and_folder_is_on_disk_before_the_commit(tmp_path: Path, hospital_folder: Path) -> None:
    root = tmp_path / "series"
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(root), str(hospital_folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    synced = {Path(path).name for path in found["synced"]}
    assert {Path(name).name for name in found["named"]} <= synced
    assert {"staging", "membership", "memory", "scales"} <= synced  # the folders that name them
    assert found["level"] == 2  # FULL: SQLite waits for the disk as well
