"""Whether a series can be signed, why, and what to do next: what stands on top of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from republish.attacks import with_knowledge, without_views
from republish.attacks.assessments import Assessment
from republish.report.facts import SeriesFacts
from republish.report.sentences import (
    BROKEN,
    FOUND,
    HOLDS,
    LOOK,
    UNKNOWN,
    last_attack,
    limit_of,
    strongest_first,
)
from republish.schema.amendments import new_series
from republish.show.numbers import percent

_TITLES = {
    BROKEN: "Cannot be signed",
    FOUND: "Cannot be signed: people are found out",
    UNKNOWN: "Cannot be signed yet",
    LOOK: "Can be signed by a person who accepts what is found",
    HOLDS: "Can be signed",
}
_WORST_FIRST = tuple(_TITLES)
LABELS = {
    "purpose": "Purpose",
    "recipients": "Recipients",
    "legal_basis": "Legal basis",
    "decided_by": "Decided by",
    "contact": "Contact",
    "signed_by": "Signed by",
}
"""What a report says of who publishes to whom, for what, and who answers for it; beside the title."""


class VerdictReason(NamedTuple):
    """One reason for or against a signature, and what to do about it."""

    mark: str
    why: str
    todo: str


def signing(facts: SeriesFacts, sought: Sequence[Assessment]) -> dict[str, Any]:
    """The verdict: its mark and title, the reasons with the worst first, and what to do next.

    `sought` are the assessments that are still true and sought values.
    """
    reasons = sorted(_reasons(facts, sought), key=lambda one: _WORST_FIRST.index(one.mark))
    mark = reasons[0].mark
    todo = dict.fromkeys(one.todo for one in reasons if one.todo)
    said = [(name, label, facts.signing.get(name, "")) for name, label in LABELS.items()]
    return {
        "mark": mark,
        "title": _TITLES[mark],
        "why": [one.why for one in reasons if one.why],
        "next": list(todo),
        "fields": [{"name": name, "label": label, "text": text} for name, label, text in said],
    }


def _reasons(facts: SeriesFacts, sought: Sequence[Assessment]) -> list[VerdictReason]:
    if not facts.releases:
        first = f"Try a first view: `republish publish {facts.name} VIEW.csv --dry-run` shows what would come of it."
        return [VerdictReason(UNKNOWN, "Nothing has been published.", first)]
    found = [*_of_records(facts), *_of_method(facts), *_of_attacks(facts, sought)]
    if facts.gate is None:
        found.append(
            VerdictReason(
                HOLDS,
                "",
                "Without a gate nothing refuses a release from which too much could be found out: set one with "
                f"`republish amend {facts.name} --gate recommended`.",
            )
        )
    if all(one.mark == HOLDS for one in found):
        found.append(
            VerdictReason(
                HOLDS, "", "Make the attacks again after the next release: the risk can grow with each."
            )
        )
    return found


def _of_records(facts: SeriesFacts) -> list[VerdictReason]:
    """What the ledger says of promises and of the gate."""
    repair = f"Run `republish verify {facts.name}`, and restore what it names from a backup before you publish again."
    found = [
        VerdictReason(BROKEN, f"{problem[:1].upper()}{problem[1:]}.", repair) for problem in facts.problems
    ]
    broken = [release.number for release in facts.releases if not release.holds]
    if broken:
        listed = ", ".join(map(str, broken))
        found.append(
            VerdictReason(BROKEN, f"A promise did not hold when release {listed} was published.", repair)
        )
    if not found:
        checks = sum(len(release.checks) for release in facts.releases)
        found.append(
            VerdictReason(
                HOLDS, f"All {checks:,} checks of promises held when the releases were published.", ""
            )
        )
    return found


def _of_method(facts: SeriesFacts) -> list[VerdictReason]:
    """A method that promises nothing over a series is no method for one."""
    if facts.publisher["protects_series"] or len(facts.releases) < 2:
        return []
    return [
        VerdictReason(
            BROKEN,
            f"{facts.publisher['name']} promises nothing over a series, and {len(facts.releases)} releases are out.",
            "Publish no further release in this way. Begin a series that protects all releases together, and adopt "
            f"these into it, with the raw views that they were made of: {new_series(facts.name)}.",
        )
    ]


def _of_attacks(facts: SeriesFacts, sought: Sequence[Assessment]) -> list[VerdictReason]:
    """What the strongest adversary finds who was measured on the series as it is."""
    if facts.sensitive is None:
        return [
            VerdictReason(
                LOOK, "There is no sensitive column, so no attack says what releases give away together.", ""
            )
        ]
    if not sought:
        make = f"Attack the series: `republish report {facts.name} -o report.html --attack all --compromised 0.04`."
        return [
            VerdictReason(
                UNKNOWN,
                "No attack was made on the series as it is now, so nobody knows what it gives away."
                + ("" if facts.outdated is None else f" {last_attack(facts, facts.outdated)}"),
                make,
            )
        ]
    return [*_not_made(facts, sought), _strongest(facts, sought)]


def _not_made(facts: SeriesFacts, sought: Sequence[Assessment]) -> list[VerdictReason]:
    """Attacks that need nothing but the releases, could be made, and were not: by nobody and not by the gate."""
    made = {name for one in sought for name in (*one.found, *one.left_out)}
    made |= set(facts.gate["attacks"]) if facts.gate is not None else set()
    missing = [name for name in without_views(facts.publisher["knowledge"]) if name not in made]
    make = (
        f"Make all attacks: `republish report {facts.name} -o report.html --attack all --compromised 0.04`."
    )
    said = f"Attacks that may find more were not made: {', '.join(missing)}."
    return [*([VerdictReason(UNKNOWN, said, make)] if missing else []), *_order_not_tried(facts, sought)]


def _order_not_tried(facts: SeriesFacts, sought: Sequence[Assessment]) -> list[VerdictReason]:
    """Values were said to follow each other, and nobody attacked who knows how."""
    tried = any(name in one.found for one in sought for name in with_knowledge())
    if tried or not facts.situation.get("order") or facts.publisher["knowledge"]:
        return []
    return [
        VerdictReason(
            UNKNOWN,
            "Values follow each other in an order that an adversary may know; no attack with this knowledge was made.",
            f"Let such an adversary attack: `republish learn KNOWLEDGE VIEW.csv ... --schema {facts.name}`, then "
            f"`republish attack {facts.name} --knowledge KNOWLEDGE --compromised 0.04 --keep`.",
        )
    ]


def _strongest(facts: SeriesFacts, sought: Sequence[Assessment]) -> VerdictReason:
    """Whom the strongest attack determines, of whom it cannot tell, and of whom it is nearly sure."""
    one = strongest_first(sought)[0]
    assert one.strongest is not None
    last, limit = one.found[one.strongest][-1], limit_of(facts)
    whom = f"{last.determined:,} of {last.people:,} people ({percent(last.determined_share)})"
    undecided = max((doubt.get("people", 0) for each in sought for doubt in each.unclear.values()), default=0)
    if last.determined:
        within = limit is not None and last.determined_share <= limit
        allowed = (
            f"; the gate allows {percent(limit)}"
            if limit is not None
            else ", and no gate says how many are too many"
        )
        return VerdictReason(
            LOOK if within else FOUND,
            f"The strongest attack measured, {one.strongest}, determines {whom}{allowed}.",
            "What is out cannot be called back. Publish no further release like these: larger groups or another "
            "method give away less, and a search looks for one: "
            f"`republish tune {facts.name} VIEW.csv ... --max-determined 0.01`.",
        )
    sure = f"The strongest attack measured, {one.strongest}, determines nobody of {last.people:,} people"
    if undecided:
        more = f"{sure}, and cannot tell of {undecided:,}."
        return VerdictReason(
            LOOK, more, "Give the attack more time, or ask whether so many may be determined."
        )
    if last.above_nine_tenths:
        more = f"{sure}, and is surer than .9 of {percent(last.above_nine_tenths)}."
        return VerdictReason(LOOK, more, "Decide whether being nearly sure of a person is harm enough.")
    return VerdictReason(HOLDS, f"{sure}, and is at most {last.worst_confidence:.2f} sure of anybody.", "")
