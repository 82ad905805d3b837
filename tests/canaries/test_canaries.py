"""Whatever is put in: no traceback, no cell or identifier in any output, and no change where it is refused."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from canaries.driver import Said, command, request, state
from canaries.inputs import CANARIES, Inputs
from republish import Mondrian, Series, read_schema
from republish.ledger import backup
from slow import quick

CASES, BLOCK = 5000, 50
FAMILIES = ("view",) * 12 + ("schema", "schema", "hierarchy", "hierarchy", "knowledge", "archive", "people")
_ESCAPED = re.compile(r"traceback|unforeseen|panicked|\bRust\b", re.IGNORECASE)


class World:
    """A series with one release, a desk over it, and a place for what commands make."""

    def __init__(self, folder: Path) -> None:
        self.template, self.house, self.out = folder / "template", folder / "house", folder / "out"
        self.inputs = Inputs(folder / "inputs")
        self.inputs.write()
        series = Series.create(
            self.template / "visits", read_schema(self.inputs.schema), Mondrian(2), seed=3, one_table=True
        )
        series.publish(self.inputs.view, as_of="2026-01-05")
        series.ledger.close()
        backup(self.template / "visits", folder / "base.tgz")
        self.archive = (folder / "base.tgz").read_bytes()
        self.renew()

    @property
    def series(self) -> Path:
        return self.house / "visits"

    def renew(self) -> None:
        """Everything as it was in the beginning."""
        for folder in (self.house, self.out):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.template, self.house)
        (self.house / "visits" / "private").chmod(0o700)
        self.out.mkdir()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("canaries"))


@pytest.fixture(scope="module")
def client(world: World) -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from desk_client import desk

    with desk(world.house) as opened:
        yield opened


def on_the_command_line(rng: np.random.Generator, family: str, world: World) -> Said:
    """One command that reads the mutated input."""
    given, new = world.inputs, world.out / "new"
    as_json = ["--json"] if rng.random() < 0.3 else []
    makes = ["init", new, "--publisher", "mondrian", "--one-table", *as_json]
    commands: dict[str, list[list[object]]] = {
        "view": [
            ["publish", world.series, given.view, *as_json],
            ["publish", world.series, given.view, "--dry-run", *as_json],
            [*makes, "--from", given.view, "--yes"],
            ["verify", given.view, "--schema", given.schema, "--require", "k=2,l=2", *as_json],
            ["learn", world.out / "learned", given.view, given.view, "--schema", given.schema],
            ["measure", world.series, "--truth", given.view.parent / "truth", *as_json],
            ["attack", world.series, "--truth", given.view.parent / "truth", "--attack", "intersection"],
        ],
        "schema": [
            [*makes, "--schema", given.schema],
            ["verify", given.view, "--schema", given.schema, "--require", "k=2", *as_json],
        ],
        "hierarchy": [
            [*makes, "--schema", given.schema],
            ["amend", world.series, "--hierarchy", f"zip={given.hierarchy}"],
        ],
        "knowledge": [
            [
                "init",
                new,
                "--schema",
                given.schema,
                "--publisher",
                "js-reduce",
                "--knowledge",
                given.knowledge,
            ]
        ],
        "archive": [["restore", given.archive, new]],
        "people": [["forget", world.series, "--ids", given.list_of_people, "--yes", *as_json]],
    }
    choices = commands[family]
    truth = given.view.parent / "truth"
    truth.mkdir(exist_ok=True)
    shutil.copyfile(given.view, truth / "001.dat")
    return command(*choices[rng.integers(len(choices))])


def at_the_desk(client: Any, world: World) -> Iterator[Said]:
    """Upload a view, have columns proposed and compared, and make a series of it."""
    said, answer = request(client, "POST", "/api/uploads", content=world.inputs.view.read_bytes())
    yield said
    if answer.status_code != 201:
        return
    upload = answer.json()["id"]
    said, proposed = request(client, "POST", "/api/propose", json={"upload": upload})
    yield said
    yield request(client, "POST", "/api/series/visits/check", json={"upload": upload})[0]
    yield request(client, "GET", "/api/series")[0]
    columns = proposed.json()["columns"] if proposed.status_code == 200 else []
    body = {"upload": upload, "name": "new", "roles": columns, "publisher": "mondrian"}
    yield request(client, "POST", "/api/series", json=body)[0]
    request(client, "DELETE", f"/api/uploads/{upload}")


_PUBLISHED = re.compile(r"^[^\n]*that would be published:.*?(?=^beside the last release:|\Z)", re.M | re.S)


def unpublished(said: Said) -> str:
    """An output without the rows that would be published, and their values: an accepted dry run shows them."""
    if said.refused or "--dry-run" not in said.what:
        return said.text
    if not said.text.startswith("{"):
        return _PUBLISHED.sub("", said.text)
    return json.dumps(
        {key: part for key, part in json.loads(said.text).items() if key not in ("sample", "margins")}
    )


def wrong_with(said: Said) -> list[str]:
    """What must not be in any output."""
    text = unpublished(said)
    found = [canary for canary in CANARIES if canary.lower() in text.lower()]
    found += _ESCAPED.findall(text)
    return [*found, *([f"exit {said.code}"] if said.code == 500 or said.code < 0 else [])]


@pytest.mark.parametrize("block", quick(range(CASES // BLOCK), lambda block: block < 10))
def test_nothing_leaks_and_nothing_changes_on_refusal(block: int, world: World, client: Any) -> None:
    problems = []
    for case in range(block * BLOCK, (block + 1) * BLOCK):
        rng = np.random.default_rng([20, case])
        family = str(rng.choice(FAMILIES))
        world.inputs.write(rng, family, world.archive)
        before = state(world.house), state(world.out)
        desk = family == "view" and rng.random() < 0.25
        told = list(at_the_desk(client, world)) if desk else [on_the_command_line(rng, family, world)]
        for said in told:
            problems += [f"case {case} ({family}), {said.what}: {wrong}" for wrong in wrong_with(said)]
        changed = (state(world.house), state(world.out)) != before
        if changed and told[-1].refused:
            problems.append(f"case {case} ({family}), {told[-1].what}: refused, and files changed")
        if changed:
            world.renew()
    assert problems == []


def test_the_cases_are_refused_and_accepted_alike(world: World) -> None:
    """Otherwise nothing would be tested but one of the two."""
    outcomes = set()
    for case in range(60):
        rng = np.random.default_rng([21, case])
        world.inputs.write(rng, "view", world.archive)
        outcomes.add(command("publish", world.series, world.inputs.view, "--dry-run").refused)
    assert outcomes == {False, True}
