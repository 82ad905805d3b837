"""Small series in one table: people with groups as they are given, or drawn, growing or with people who leave."""

from __future__ import annotations

import numpy as np
import polars as pl

from republish import Category, Number, Schema, read_view
from republish.attacks import History, Table
from republish.attacks.history import _rows
from republish.attacks.matching.sightings import MatchedView
from republish.grouping import Grouping
from republish.memory.event_lists import Appearances, events_of
from republish.release.release import build_release
from republish.secret import Secret

SECRET = Secret.from_text("the secret of growing tables")
SCHEMA = Schema("id", [Number("age", domain=(0, 60)), Category("town", domain=("n", "e", "s"))], "dx")
Person = tuple[str, int, str, str]
Release = list[tuple[Person, int]]


def published(
    releases: list[Release], counterfeits: tuple[int, ...] = ()
) -> tuple[History, list[MatchedView]]:
    """A series of people (id, age, town, value) with their groups; the first release has counterfeits of value 0."""
    names = sorted({person[0] for release in releases for person, _ in release})
    values, views = None, []
    for release in releases:
        frame = pl.DataFrame([one for one, _ in release], schema=["id", "age", "town", "dx"], orient="row")
        views.append(read_view(frame, SCHEMA, values))
        values = views[-1].values
    assert values is not None
    tables, appearances, truth, sightings = [], [], [], []
    for number, (view, release) in enumerate(zip(views, releases, strict=True)):
        fake = np.array(() if number else counterfeits, dtype=np.int32)
        group = np.array([place for _, place in release], dtype=np.int32)
        made, placed = build_release(view, Grouping(group, fake, np.zeros_like(fake)), SECRET, number)
        person = np.array([names.index(one[0]) for one, _ in release], dtype=np.int64)
        codes, placed = view.codes.astype(np.int64), placed.astype(np.int64)
        tables.append(Table(person, placed - 1, *_rows(made, values)))
        digests = np.array([3 * one[1] + "nes".index(one[2]) for one, _ in release], dtype=np.uint64)
        appearances.append(Appearances(person, codes, digests))
        truth.append(codes)
        sightings.append(MatchedView.of(made, view, person, placed))
    events = events_of(len(names), appearances)
    return History.of(len(names), len(values), tables, events, truth), sightings


def drawn(seed: int, leaving: float = 0.0) -> list[Release]:
    """Three releases of a few people each, in groups of two or three who are near each other in age."""
    rng = np.random.default_rng(seed)
    people: list[Person] = []
    releases = []
    for number in range(3):
        people = [one for one in people if rng.random() >= leaving]
        new = int(rng.integers(0 if number else 4, 5))
        people += [
            (
                f"p{number}{i}",
                int(rng.integers(0, 12)),
                str(rng.choice(["n", "e"])),
                str(rng.choice(["a", "b", "c"])),
            )
            for i in range(new)
        ]
        if not people:
            people = [(f"q{number}", 3, "n", "a")]
        order = sorted(people, key=lambda one: (one[1], rng.random()))
        size = int(rng.integers(2, 4))
        groups = max(1, len(order) // size)
        releases.append([(one, min(i // size, groups - 1)) for i, one in enumerate(order)])
    return releases


Cell = tuple[int, int, frozenset[str]]


def cells_of(release: Release) -> dict[int, Cell]:
    """What each group publishes: ages from and to, and towns."""
    found = {}
    for group in {place for _, place in release}:
        held = [one for one, place in release if place == group]
        ages = [one[1] for one in held]
        found[group] = (min(ages), max(ages), frozenset(one[2] for one in held))
    return found


def comparable(one: Cell, other: Cell) -> bool:
    return one[0] <= other[1] and other[0] <= one[1] and bool(one[2] & other[2])


def bundles(release: Release) -> dict[tuple[int, str], int]:
    """How many rows every group has of every value."""
    found: dict[tuple[int, str], int] = {}
    for one, place in release:
        found[place, one[3]] = found.get((place, one[3]), 0) + 1
    return found


def group_in(release: Release, name: str) -> int | None:
    return next((place for one, place in release if one[0] == name), None)
