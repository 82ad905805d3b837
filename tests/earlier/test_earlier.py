"""What an earlier version made: this one makes the same bytes, and goes on with its series."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from earlier.make import HERE, MOMENTS, PARAMETERS, SECRET, make_views, publish_all
from republish import Series
from republish.ledger.archive import restore
from republish.publishers import PUBLISHERS
from republish.publishers.renamed import named_now
from republish.release.codebook import CODEBOOK
from republish.release.r_script import R_SCRIPT
from republish.secret import VARIABLE

ADDED = {*CODEBOOK, R_SCRIPT}
"""Files that an earlier version did not write."""
SAID_BETTER = ("tool", "promised_over_the_series", "not_promised_over_the_series")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The raw views, with their schema and knowledge."""
    place = tmp_path_factory.mktemp("earlier")
    make_views(place)
    return place


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def released(series: Series) -> dict[str, bytes]:
    """Every file that may leave the house, publishers by today's names; version and words on the series aside."""
    files = {
        f"{number}/{path.name}": path.read_bytes()
        for number in range(1, len(series.records) + 1)
        for path in sorted(series.ledger.folder(number).iterdir())
    }
    for name, data in files.items():
        if name.endswith("about.json"):
            about = json.loads(data)
            publisher = about["publisher"]
            publisher["name"], said = named_now(publisher["name"], publisher["parameters"])
            publisher["parameters"] = {key: value for key, value in said.items() if key != "insert_only"}
            publisher["paper"] = PUBLISHERS[publisher["name"]].paper
            files[name] = json.dumps(about | dict.fromkeys(SAID_BETTER), sort_keys=True).encode()
    return files


@pytest.mark.parametrize("name", PARAMETERS)
def test_releases_are_the_same_to_the_byte(name: str, folder: Path, tmp_path: Path) -> None:
    restore(HERE / f"{name}.tgz", tmp_path / "earlier")
    made = publish_all(tmp_path / "now", name, folder, sorted((folder / "views").iterdir()))
    before, now = released(Series.open(tmp_path / "earlier")), released(made)
    assert {name.partition("/")[2] for name in now.keys() - before.keys()} == ADDED
    assert [file for file in before if now.get(file) != before[file]] == []


@pytest.mark.parametrize("name", PARAMETERS)
def test_interpreted_kernels_make_the_same_bytes(
    name: str, folder: Path, tmp_path: Path, interpreted: None
) -> None:
    test_releases_are_the_same_to_the_byte(name, folder, tmp_path)


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_earlier_series_goes_on(name: str, folder: Path, tmp_path: Path) -> None:
    restore(HERE / f"{name}.tgz", tmp_path / "earlier")
    series = Series.open(tmp_path / "earlier")
    found = series.verify()
    assert found.holds, found.problems
    last = sorted((folder / "views").iterdir())[-1]
    done = series.publish(last, as_of="2024-01-22")
    assert (done.number, done.arrivals.new, done.arrivals.left) == (len(MOMENTS) + 1, 0, 0)
    assert (done.arrivals.changed_value, done.arrivals.changed_quasi_identifiers) == (0, 0)
    found = series.verify()
    assert found.holds, found.problems
