"""A publisher that nobody has heard of, one file and one line in the registry, is served by every room."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import republish
from desk_client import SCHEMA, csv, desk, upload, view
from republish import Adversary, Extracted, KAnonymity, PolicyError, Series, anonymize, attack
from republish.grouping import Grouping
from republish.memory.memory import Memory
from republish.microdata import Microdata
from republish.parts import Here
from republish.publishers import PUBLISHERS, Publisher, make_publisher
from republish.publishing.maintenance import forget
from republish.report import facts_of, make_report
from republish.requirements import Requirement
from republish.tune.space import Candidate
from republish.web.jobs.worker import outcome_of

ROLES = [
    {"name": "patient", "role": "identifier"},
    {"name": "age", "role": "quasi-identifier", "kind": "number"},
    {"name": "ward", "role": "quasi-identifier", "kind": "category"},
    {"name": "diagnosis", "role": "sensitive", "kind": "category"},
]


@dataclass(frozen=True)
class Toy(Publisher):
    """Rows in the order of their first quasi-identifier, `k` at a time."""

    k: int = 4
    require: tuple[Requirement, ...] = ()

    name: ClassVar[str] = "toy"
    paper: ClassVar[str] = "nobody's"
    summary: ClassVar[str] = "Cuts the rows into runs."

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        return (KAnonymity(self.k), *self.require)

    def publish(self, view: Microdata, memory: Memory, rng: np.random.Generator) -> Grouping:
        group = np.empty(view.rows, dtype=np.int32)
        runs = max(1, view.rows // self.k)
        group[np.argsort(view.points[0], kind="stable")] = np.minimum(
            np.arange(view.rows) // self.k, runs - 1
        )
        return Grouping(group)


@dataclass(frozen=True)
class DivisibleToy(Toy):
    """The same, which can be run in parts."""

    name: ClassVar[str] = "divisible-toy"

    @property
    def undivided(self) -> str | None:
        return None


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for kind in (Toy, DivisibleToy):
        monkeypatch.setitem(PUBLISHERS, kind.name, kind)
    yield


def series(folder: Path, name: str = "toy") -> Series:
    return Series.create(folder, SCHEMA, make_publisher(name, {"k": "5"}), seed=1, one_table=True)


def test_one_table_is_published(tmp_path: Path) -> None:
    assert anonymize(view(), SCHEMA, Toy(6), seed=1).sizes.min() == 6


def test_a_series_is_published_verified_attacked_reported_and_forgotten(tmp_path: Path) -> None:
    made = series(tmp_path / "s")
    for week in (1, 2):
        assert made.publish(view(week)).groups == 18
    again = Series.open(made.root)
    assert again.policy.publisher == Toy(5)
    assert again.verify().holds
    names = [one.name for one in attack(again, Adversary(compromised=0.1), ["intersection", "tau"])]
    assert names == ["intersection", "tau"]
    assert facts_of(again).publisher["parameters"] == {"k": 5}
    assert "Cuts the rows into runs." in make_report(again, "md")
    assert forget(again, view(1).select("patient").head(1)).erased == 1


def test_an_engine_publishes_verifies_and_attacks_it(tmp_path: Path) -> None:
    made, engine = series(tmp_path / "s", "divisible-toy"), Here(parts=3)
    for week in (1, 2):
        assert made.publish(view(week), engine=engine).verification.holds
    assert made.verify(engine=engine).holds
    assert engine.attack(made, Adversary(), ["intersection"])["intersection"].name == "intersection"


def test_an_engine_refuses_one_that_does_not_say_how_a_view_may_be_divided(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="toy does not say how a view may be divided"):
        series(tmp_path / "s").publish(view(), engine=Here(parts=3))


def test_the_desk_offers_makes_publishes_and_shows_it(tmp_path: Path) -> None:
    (tmp_path / "desk").mkdir()
    (tmp_path / "view.csv").write_bytes(csv())
    with desk(tmp_path / "desk", uploads_in=tmp_path) as client:
        offered = {one["name"]: one for one in client.get("/api/publishers").json()}
        assert [one["name"] for one in offered["toy"]["parameters"]] == ["k"]
        body = {"name": "week", "upload": upload(client, csv()), "roles": ROLES, "publisher": "toy"}
        assert client.post("/api/series", json=body | {"one_table": True}).status_code == 201
        task = {"kind": "publish", "root": tmp_path / "desk" / "week", "view": tmp_path / "view.csv"}
        assert "result" in outcome_of(task, lambda _: None)  # a worker is a process that knows no toy
        assert "Cuts the rows into runs." in client.get("/s/week").text


def test_knowledge_is_refused_by_one_that_uses_none() -> None:
    with pytest.raises(PolicyError, match="toy makes no use of knowledge; bayframe and js-reduce do"):
        make_publisher("toy", {}, knowledge=Extracted())


def test_a_search_tries_its_defaults() -> None:
    assert Candidate("toy", {"k": 4}).plain.parameters == {}


def test_nobody_asks_for_the_type_of_a_publisher_or_for_what_the_contract_does_not_name() -> None:
    ladder = re.compile(r"(getattr|hasattr|isinstance)\([^)\n]*(publisher\b|PUBLISHERS)")
    package = Path(republish.__file__).parent
    found = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if ladder.search(path.read_text(encoding="utf-8"))
    ]
    assert found == ["publishers/contract.py"]  # which reads the parameters by their names
