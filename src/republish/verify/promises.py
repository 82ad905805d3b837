"""What each promise over a series means, and whether one release keeps it; imports no publisher.

- `m-invariance=m`: everyone who is in two consecutive releases with the same sensitive value has groups with the same
  signature in both. A changed value begins a new episode, and so does a return.
- `weak-m-invariance=m`: the same, and also between a person's last release and a return with the same value.
- `tau-safety=m`: the same; and whoever returns with another value has the old signature or one that shares no
  value with it, unless fewer than m of the values known then lie outside the old one.
- `disjoint-updates`: whatever happened to a person since the last release she was in, an update above all, her
  signature is the same as there or has no value in common with it.
- `similarity=j`: an adversary who thinks as the policy says believes much the same of all members of a group
  before its release: their priors diverge by at most j bits (see `republish.verify.similarity`); `ks-similarity=j`: no
  two of them have a Kolmogorov-Smirnov distance of more than j.
- `view-t=t`, `view-beta=b`, ...: every group satisfies that requirement, compared with the values of everyone in the
  view, those who were left out included; nothing is said of the published table.
- `determined=d@c`: people stay together, and of those whom an adversary does not know at most a share d is expected
  to be determined where she knows a share c (see `republish.verify.cohorts`).
- `value-blind`, `open-batches=n`, `closed-batches=n`: see `republish.verify.batches`.
- `whole-buckets=c`: people stay together, and what can be determined then is bounded (see there).
- `withstand=x`: no release takes an adversary who thinks of all releases together further than x bits from a group's
  shares (see `republish.verify.withstand`); `withstand-events=x`: also where she knows whose value changed when.
- `kept-cuts`: the cells of people of all releases are laminar (see `republish.verify.kept_cuts`).
- `growing-groups`: everyone of the last release is in this one with the same value, and whoever shared a group there
  shares one here.
- `new-values=n`: a signature with a value that no earlier release showed and no list has is that of at least n
  people; and whoever is published for the first time is one of at least n who are new or have a changed value.
- `hc-safety=n`: no group shares more than |Q| - n, and less than all, of its members with one earlier group
  (Cor-Split, Fig. 6), so that no historical correlation relates fewer than n people. Members are episodes: a person
  whose value changed was in no earlier group.
- `theta=people`: see `republish.verify.possible_values`; checked where the possible values are at hand.
- `pvr-safety=h@p`, `lifespan=L`: see `republish.verify.pvr_safety`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from republish.arrays import BoolArray, IntArray
from republish.knowledge.possible_people import MEANING as OF_POSSIBLE
from republish.knowledge.possible_people import PROMISE as POSSIBLE
from republish.memory.membership import Membership
from republish.microdata import sensitive_codes
from republish.release.two_tables import stored_values
from republish.requirements import Whole, parse_requirements
from republish.schema import Schema
from republish.verify.check import Check
from republish.verify.kept_cuts import ShownCells
from republish.verify.pvr_safety import LIFESPAN, PVR_SAFETY, pvr_safe, within_lifespan
from republish.verify.similarity import KS_SIMILARITY, SIMILARITY, Shown

VIEW = "view-"
WITHSTAND, EVENTS, NEW_VALUES = "withstand", "withstand-events", "new-values"
GROWING = "growing-groups"
ABOUT_SIGNATURES = ("m-invariance", "weak-m-invariance", "tau-safety", "disjoint-updates", NEW_VALUES)
"""The promises for which the signatures of everyone must be known."""
CONSTANT_SIGNATURES = ("m-invariance", "weak-m-invariance", "tau-safety")
"""The promises that a signature stays while the value does."""

_ROWS = {"group": pl.Int64, "code": pl.Int64, "rows": pl.Int64}
_OVER_ABSENCES = "While a value stays the same, even over absences, so does the set of values it hides in."
_MEANING = {
    "m-invariance": "While a value stays the same from release to release, so does the set of values it hides in.",
    "weak-m-invariance": _OVER_ABSENCES,
    "tau-safety": _OVER_ABSENCES,
    "disjoint-updates": "A new set of values that a person hides in has nothing in common with the last one.",
    "withstand-events": (
        "Weighing all releases together, and knowing whose value changed since the last one, an adversary strays "
        "little from what a group shows of its members."
    ),
    "withstand": "Weighing all releases together, an adversary strays little from what a group shows of its members.",
    "ks-similarity": (
        "Before a release, an adversary believes much the same of all members of a group: up to no value do the "
        "chances of any two add up to anything much different."
    ),
    "similarity": "Before a release, an adversary believes much the same of all members of a group.",
    "determined": "Of the people an adversary does not know, few can be determined, by whatever attack.",
    "whole-buckets": "A person who stays is published with the same people, which bounds how many can be determined.",
    "value-blind": "Who is in which batch with whom depends on quasi-identifiers, numbers of people and chance, never "
    "on a value.",
    "open-batches": "The counts of a batch change only when at least n episodes end, or begin, together.",
    "closed-batches": "A batch takes in nobody once it is made, and loses at least n episodes together.",
    "growing-groups": "Nobody leaves, no value changes, and people of one group stay in one: groups only grow.",
    "kept-cuts": "Cells of people lie inside those of other releases, around them, or apart from them.",
    "new-values": "A value that appears for the first time hides among at least n people, any of whom may have it.",
    "hidden-batch": "Cells of every batch are everywhere, so that nobody's quasi-identifiers exclude a batch.",
    "hc-safety": "No comparison of two groups of different releases relates fewer than n people.",
    "pvr-safety": (
        "By the formula of Cor-Split's paper a breach is less likely than the limit: each of its two inferences is "
        "made once. An adversary who goes on from what was excluded finds more."
    ),
    "theta": OF_POSSIBLE,
    "lifespan": "Nobody is published more than n times while the value stays the same.",
}


def meaning_of(promise: str) -> str:
    """A promise over the series as one sentence."""
    if promise.startswith(VIEW):
        (requirement,) = parse_requirements(promise.removeprefix(VIEW))
        of_view = "The whole table here is the view, with those who were left out of the release."
        return f"{requirement.describe()} {of_view}"
    name, _, bound = promise.partition("=")
    said = _MEANING[name]
    for words in ("than n people", "least n people", "least n episodes", "than n times"):
        said = said.replace(words, words.replace(" n ", f" {bound} "))
    return said


class Signatures(NamedTuple):
    """The signature of every group, position 0 for group 1, its sorted codes as text; how many values are known.

    `rows` holds group, code and number of all published rows.
    """

    of_group: pl.Series
    values: int
    rows: pl.DataFrame


@dataclass(frozen=True)
class AuditedRelease:
    """One release as an auditor has it: who is in it, each group's signature, and what an adversary sees of it.

    `published` are the codes that earlier releases showed or the schema lists.
    """

    number: int
    members: Membership
    signature: Signatures
    shown: Shown | None = None  # where beliefs are promised something
    cells: ShownCells | None = None  # where people and values are published in two tables
    published: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    clock: pl.DataFrame | None = None  # where batches were not all counted in this release
    adopted: bool = False  # made by another tool

    @cached_property
    def borne(self) -> pl.Series:
        """The signature of every person's group; null where the person was left out."""
        group = self.members.group
        place = pl.Series(np.where(group > 0, group - 1, 0))
        there = pl.Series(group > 0)
        spelled = (
            self.signature.of_group.gather(place)
            if len(self.signature.of_group)
            else pl.Series([None] * len(place), dtype=pl.String)
        )
        return pl.select(pl.when(there).then(spelled)).to_series()


def signatures_of(folder: Path, schema: Schema, values: pl.Series, groups: int = 0) -> Signatures:
    """The signature of every group of a stored release, from the published table and the values known then.

    There are as many as the highest number of a group says, and at least `groups`; null where a number has no rows.
    """
    assert schema.sensitive is not None
    frame = stored_values(folder, ["group", schema.sensitive.name])
    codes, _ = sensitive_codes(frame[schema.sensitive.name], schema.sensitive, values)
    return signatures_in(frame["group"].to_numpy(), codes, len(values), groups)


def signatures_in(group: IntArray, codes: IntArray, values: int, groups: int = 0) -> Signatures:
    """The signature of every group from the group and code of every published row; see `signatures_of`."""
    pairs = pl.DataFrame({"group": group, "code": codes}).group_by("group", "code").len("rows")
    pairs = pairs.sort("group", "code")
    spelled = pairs.group_by("group").agg(pl.col("code").cast(pl.String).str.join(","))
    top = max(groups, int(pairs["group"].max() or 0))  # type: ignore[arg-type]
    numbers = pl.DataFrame({"group": pl.Series(np.arange(1, top + 1), dtype=pairs["group"].dtype)})
    of_group = numbers.join(spelled, on="group", how="left", maintain_order="left")["code"]
    return Signatures(of_group, values, pairs)


def signatures_to_keep(found: Signatures, promises: Iterable[str]) -> Signatures:
    """The signatures of a release that another tool made: those with as many values as are promised, null for others.

    Nobody can be promised to keep a smaller one.
    """
    bounds = (promise.partition("=")[::2] for promise in promises)
    least = max((int(m) for name, m in bounds if name in ABOUT_SIGNATURES and m), default=1)
    enough = found.of_group.str.count_matches(",", literal=True) + 1 >= least
    kept = pl.select(pl.when(enough).then(found.of_group)).to_series()
    return found._replace(of_group=kept)


def no_signatures(groups: int) -> Signatures:
    """The signatures of groups of which none are asked for."""
    return Signatures(pl.Series([None] * groups, dtype=pl.String), 0, pl.DataFrame(schema=_ROWS))


class Before(NamedTuple):
    """What is known of everyone in a release from earlier ones.

    `last` has one row a person, in the order of the release: code, signature, group and release of the last sight, null
    for a stranger; `present` is how many people the last release had. `groups()` is, for each earlier release, the
    group each person was in while she lived the life she lives now, 0 for none. `beliefs(promise)` is the check of a
    promise about beliefs, `cohorts(promise)` those of one about cohorts.
    """

    last: pl.DataFrame
    groups: Callable[[], Sequence[IntArray]]
    beliefs: Callable[[str], Check]
    cohorts: Callable[[str], Sequence[Check]]
    present: int = 0

    def same(self, now: AuditedRelease) -> BoolArray:
        found: BoolArray = (
            self.last["code"].eq(pl.Series(now.members.code, dtype=pl.Int32)).fill_null(False).to_numpy()
        )
        return found

    def changed(self, now: AuditedRelease) -> BoolArray:
        found: BoolArray = self.last["code"].is_not_null().to_numpy() & ~self.same(now)
        return found


def promise_checks(
    promises: Iterable[str], now: AuditedRelease, before: Before, sizes: IntArray
) -> list[Check]:
    """Whether a release with groups of these sizes keeps each of the promises over the series."""
    checks, promises = list[Check](), list(promises)
    names = {promise.partition("=")[0] for promise in promises}
    groups = before.groups() if names & {"hc-safety", LIFESPAN, PVR_SAFETY} else ()
    for promise in promises:
        name = promise.partition("=")[0]
        if promise == POSSIBLE:
            continue  # of people's possible values, which are looked up apart
        if name == "hc-safety":
            checks.append(hc_safe(promise, now, groups, sizes))
        elif name == LIFESPAN:
            checks.append(within_lifespan(promise, meaning_of(promise), now.members.group, groups))
        elif name == PVR_SAFETY:
            checks.append(pvr_safe(promise, meaning_of(promise), promises, now.members.group, groups))
        elif name in (SIMILARITY, KS_SIMILARITY, WITHSTAND, EVENTS):
            checks.append(before.beliefs(promise))
        elif name.startswith(VIEW):
            checks.append(close_to_view(promise, now, sizes))
        elif name in ("determined", "whole-buckets", "value-blind", "open-batches", "closed-batches"):
            checks.extend(before.cohorts(promise))
        elif name == NEW_VALUES:
            checks.extend(hidden_new_values(promise, now, before))
        elif name == GROWING:
            checks.append(grown_groups(promise, now, before))
        elif name == "disjoint-updates":
            checks.append(equal_or_disjoint(promise, now, before))
        else:
            checks.append(kept_signatures(promise, now, before))
        if name == "tau-safety":
            checks.append(returned_apart(promise, now, before))
    return checks


def close_to_view(promise: str, now: AuditedRelease, sizes: IntArray) -> Check:
    """Whether every group satisfies a requirement against the values of everyone in the view, left out or not."""
    (requirement,) = parse_requirements(promise.removeprefix(VIEW))
    if now.shown is None:
        return Check(promise, False, "What was published of values cannot be read.", unchecked=len(sizes))
    m = len(now.shown.people.values)
    counts = np.zeros((len(sizes), m), dtype=np.int64)
    np.add.at(counts, (now.shown.row_group - 1, now.shown.row_code), 1)
    whole = Whole.of(now.members.code, m)
    broken = ~requirement.holds(counts, whole) & (sizes > 0)
    reached = requirement.achieved(counts[sizes > 0], whole)
    return Check(
        promise,
        not broken.any(),
        meaning_of(promise),
        requirement.worst(reached),
        int(broken.sum()),
        int(sizes[broken].sum()),
    )


def kept_signatures(promise: str, now: AuditedRelease, before: Before) -> Check:
    """Whether everyone who must keep a signature does."""
    must = before.same(now) & (now.members.group > 0) & before.last["signature"].is_not_null().to_numpy()
    if promise.startswith("m-invariance"):
        must &= before.last["release"].fill_null(0).to_numpy() == now.number - 1
    broken = must & now.borne.ne_missing(before.last["signature"]).to_numpy()
    return _of_people(f"{promise}: constant signatures", broken, now, meaning_of(promise))


def returned_apart(promise: str, now: AuditedRelease, before: Before) -> Check:
    """Whether everyone back with another value has the old signature, or one apart from it where there can be one."""
    m = int(promise.partition("=")[2])
    absent = before.last["release"].fill_null(now.number).to_numpy() < now.number - 1
    back = absent & before.changed(now) & (now.members.group > 0)
    who = np.flatnonzero(back)
    size = (
        before.last["signature"].gather(who).str.count_matches(",", literal=True).fill_null(0).to_numpy() + 1
    )
    bound = np.zeros(len(back), dtype=np.bool_)
    bound[who] = now.signature.values - size.astype(np.int64) >= m
    meaning = (
        "A person who comes back with another value hides in the old set of values or in one apart from it."
    )
    found = _of_people(f"{promise}: returns", _overlapping(now, before, bound), now, meaning)
    note = f"For {{}} people fewer than {m} values lie outside the old one; they were treated as newcomers."
    return replace(found, note=note, noted=int(np.count_nonzero(back & ~bound)))


def equal_or_disjoint(promise: str, now: AuditedRelease, before: Before) -> Check:
    """Whether everyone's signature is the last one or shares no value with it."""
    overlaps = _overlapping(now, before, np.ones(len(now.members.group), dtype=np.bool_))
    return _of_people(f"{promise}: equal or disjoint signatures", overlaps, now, meaning_of(promise))


def hidden_new_values(promise: str, now: AuditedRelease, before: Before) -> tuple[Check, Check]:
    """Whether every new value is in signatures of enough people, and nobody came in with too few others."""
    fewest = int(promise.partition("=")[2])
    rows = now.signature.rows
    fresh = rows.filter(~pl.Series(np.isin(rows["code"].to_numpy(), now.published)))["group"].unique()
    shown = now.signature.of_group.gather(fresh.to_numpy().astype(np.int64) - 1).unique()
    borne = now.borne.to_frame("signature").join(shown.to_frame("signature"), on="signature", how="semi")
    people = shown.to_frame("signature").join(borne.group_by("signature").len(), on="signature", how="left")
    few = people.filter(pl.col("len").fill_null(0) < fewest)
    hidden = Check(
        f"{promise}: signatures with a new value",
        few.is_empty(),
        meaning_of(promise),
        None,
        few.height,
        int(few["len"].fill_null(0).sum()),
    )
    there = now.members.group > 0
    stranger = before.last["code"].is_null().to_numpy() & there
    coming = int(np.count_nonzero(stranger | (before.changed(now) & there)))
    alone = bool((stranger & now.members.someone).any()) and coming < fewest
    together = Check(
        f"{promise}: newcomers",
        not alone,
        f"A person who is published for the first time is one of at least {fewest} people who are new or have a new "
        "value.",
        None,
        0,
        coming if alone else 0,
    )
    return hidden, together


def grown_groups(promise: str, now: AuditedRelease, before: Before) -> Check:
    """Whether everyone of the last release is there with the same value, and every group of it in one group."""
    stayed = before.last["release"].eq(now.number - 1).fill_null(False).to_numpy()
    gone = before.present - int(np.count_nonzero(stayed & now.members.someone))
    changed = before.changed(now) & stayed
    pairs = pl.DataFrame({"then": before.last["group"], "now": now.members.group}).filter(pl.Series(stayed))
    apart = pairs.unique().group_by("then").len().filter(pl.col("len") > 1)
    left_out = stayed & (now.members.group == 0)
    return Check(
        f"{promise}: groups of the last release",
        gone == 0 and apart.is_empty() and not (changed | left_out).any(),
        meaning_of(promise),
        None,
        apart.height,
        gone + int(np.count_nonzero(changed | left_out)),
    )


def hc_safe(promise: str, now: AuditedRelease, groups: Sequence[IntArray], sizes: IntArray) -> Check:
    """Whether no group has between |Q| - n and |Q| members, both excluded, in common with one earlier group.

    Groups of which somebody was forgotten cannot be counted; they are left out. What the publisher goes by is not
    used here: the members in common are counted anew, for every earlier release.
    """
    degree = int(promise.partition("=")[2])
    broken = np.zeros(len(sizes), dtype=np.bool_)
    for then in groups:
        both = pl.DataFrame({"now": now.members.group, "then": then}).filter(
            (pl.col("now") > 0) & (pl.col("then") > 0)
        )
        shared = both.group_by("now", "then").len()
        place, count = shared["now"].to_numpy() - 1, shared["len"].to_numpy().astype(np.int64)
        broken[place[(count > sizes[place] - degree) & (count < sizes[place])]] = True
    gone = np.unique(now.members.group[~now.members.someone & (now.members.group > 0)]) - 1
    broken[gone] = False
    return Check(
        f"{promise}: historical correlations",
        not broken.any(),
        meaning_of(promise),
        None,
        int(broken.sum()),
        int(sizes[broken].sum()),
        note="{} groups hold people who were forgotten and cannot be checked.",
        noted=len(gone),
    )


def _overlapping(now: AuditedRelease, before: Before, among: BoolArray) -> BoolArray:
    """Who of these people has another signature than at the last sight, with some of its values."""
    pairs = pl.DataFrame({"before": before.last["signature"], "now": now.borne}).with_row_index("person")
    pairs = pairs.filter(pl.Series(among)).drop_nulls().filter(pl.col("before") != pl.col("now"))
    one, other = pl.col("before").str.split(","), pl.col("now").str.split(",")
    found = np.zeros(len(among), dtype=np.bool_)
    found[pairs.filter(one.list.set_intersection(other).list.len() > 0)["person"].to_numpy()] = True
    return found


def _of_people(name: str, broken: BoolArray, now: AuditedRelease, meaning: str) -> Check:
    groups = len(np.unique(now.members.group[broken]))
    return Check(name, not broken.any(), meaning, None, groups, int(broken.sum()))
