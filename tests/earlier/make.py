"""Series of every publisher as an earlier version made them; `python tests/earlier/make.py` writes those not there yet.

Releases are a function of view, memory, policy, seed and secret, so a later version must make the same bytes, and
must go on with these series.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from republish import Series, read_schema
from republish.datasets import hospital
from republish.knowledge import read_knowledge
from republish.ledger.archive import backup
from republish.publishers import Publisher, make_publisher
from republish.requirements import parse_requirements
from republish.secret import VARIABLE

HERE = Path(__file__).parent
SECRET = "the secret of all earlier series"
MOMENTS = ("2024-01-01", "2024-01-08", "2024-01-15")
PARAMETERS: dict[str, tuple[str, dict[str, str], str]] = {
    "mondrian": ("mondrian", {"k": "5"}, "l=3"),
    "mondrian-bt": ("mondrian", {"k": "5", "bt": "0.5/0.8"}, ""),
    "banga": ("penalty-tree", {"k": "5"}, ""),
    "banga-incremental": ("penalty-tree", {"k": "5", "incremental": "true", "m": "5"}, ""),
    "banga-region": ("banga", {"k": "5", "m": "5", "split": "10", "compact": "false"}, ""),
    "rplus-tree": ("rplus-tree", {"k": "5"}, ""),
    "m-invariance": ("m-invariance", {"m": "3", "membership": "nearest"}, ""),
    "tau-safety": ("tau-safety", {"m": "3", "membership": "nearest"}, ""),
    "cor-split": (
        "cor-split",
        {"m": "3", "n": "2", "pad": "true", "membership": "nearest", "assignment": "new", "cell": "8"},
        "",
    ),
    "cohorts": ("cohorts", {"membership": "nearest"}, ""),
    "js-reduce": ("js-reduce", {}, ""),
    "bayframe": ("bayframe", {}, ""),
}


def make_views(folder: Path) -> list[Path]:
    """The three views that all of them published; the schema and the knowledge lie beside them."""
    hospital(views=len(MOMENTS), rows=160, seed=11).write(folder)
    return sorted((folder / "views").iterdir())


def publisher_of(name: str, folder: Path) -> Publisher:
    kind, parameters, require = PARAMETERS[name]
    known = (
        read_knowledge(folder / "knowledge", read_schema(folder / "schema.toml"))
        if kind in ("js-reduce", "bayframe")
        else None
    )
    return make_publisher(kind, parameters, parse_requirements(require), known)


def publish_all(root: Path, name: str, folder: Path, views: list[Path]) -> Series:
    """The series of that name, with the secret of the environment."""
    schema = read_schema(folder / "schema.toml")
    series = Series.create(root, schema, publisher_of(name, folder), seed=3, one_table=True)
    for view, moment in zip(views, MOMENTS, strict=True):
        series.publish(view, as_of=moment)
    return series


def main() -> None:
    os.environ[VARIABLE] = SECRET
    with tempfile.TemporaryDirectory() as place:
        views = make_views(Path(place))
        for name in PARAMETERS:
            target = HERE / f"{name}.tgz"
            if not target.exists():
                made = publish_all(Path(place) / name, name, Path(place), views)
                made.ledger.close()
                backup(Path(place) / name, target, without_secret=True)
                print(f"{target.name}: {target.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
