"""Sentences that depend on the series: what to look at first, what an adversary has, until when the report holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from republish.attacks.assessments import Assessment
from republish.attacks.summary import strength
from republish.publishing.policy_record import safer_publishers
from republish.report import words
from republish.report.facts import SeriesFacts
from republish.show.numbers import day, minute, percent

if TYPE_CHECKING:
    from republish.attacks import Identity

HOLDS, LOOK, BROKEN, UNKNOWN = "holds", "look", "broken", "unknown"
LACKING, ABSENT, FOUND, NOBODY = "lacking", "absent", "found", "nobody"
"""Marks of statements: a limit is kept; look at it; not as it should be; not known; missed; simply not there; people
are found out; nobody is, and no limit says that this is enough."""
_WORST_FIRST = (BROKEN, FOUND, LACKING, LOOK, UNKNOWN, ABSENT, NOBODY, HOLDS)

_CERTAIN = (
    ("linkage", "alone", "of people are alone in the cells that were theirs"),
    ("presence", "surely_present", "of those present are so for certain"),
    ("presence", "shown_absent", "of those absent are so for certain"),
    (
        "bcf",
        "below_k",
        "of people have fewer rows left than the smallest group has by comparing two releases",
    ),
    ("tracing", "below_k", "by following rows through all releases"),
    (
        "swap",
        "told_apart",
        "of pairs are distinguished by an adversary who knows the program and all other values",
    ),
)


def statements(
    facts: SeriesFacts, found: Sequence[Assessment], identities: Mapping[str, Sequence[Identity]]
) -> list[dict[str, str]]:
    """What whoever signs should know, each with a mark, the worst first."""
    made = {
        "Strongest adversary measured": _attacked(facts, found),
        "Promises about every release": _promises(facts),
        "Promises over the series": _over_the_series(facts),
        **({"Rows and presence": _identified(identities)} if identities or facts.form is not None else {}),
        "Gate": _gated(facts),
        "Risk of the last release alone": _alone(facts),
        "Records": _ledger(facts),
    }
    said = [{"title": title, "mark": mark, "text": text} for title, (mark, text) in made.items()]
    return sorted(said, key=lambda one: _WORST_FIRST.index(one["mark"]))


def _promises(facts: SeriesFacts) -> tuple[str, str]:
    checks = [check for release in facts.releases for check in release.checks]
    broken = sum(not check["holds"] for check in checks)
    if not facts.releases:
        return UNKNOWN, "Nothing has been published yet."
    if broken or not all(release.holds for release in facts.releases):
        return BROKEN, f"{broken} of {len(checks)} checks did not hold when releases were published."
    return HOLDS, (
        f"All {len(checks):,} checks of {_releases(len(facts.releases))} held. Each was recomputed from the stored "
        "files before the release was committed."
    )


def _over_the_series(facts: SeriesFacts) -> tuple[str, str]:
    name = facts.publisher["name"]
    if not facts.publisher["protects_series"]:
        several = len(facts.releases) > 1
        return LACKING, (
            f"None. {name} protects each release alone and promises nothing over the series"
            + (f", and {len(facts.releases)} releases are out" if several else "")
            + f"; {safer_publishers()}."
        )
    promised = " ".join(facts.promises["meanings"][promise] for promise in facts.promises["series"])
    return HOLDS, promised


def _attacked(facts: SeriesFacts, found: Sequence[Assessment]) -> tuple[str, str]:
    if not facts.releases:
        return UNKNOWN, "Nothing has been published yet."
    if facts.sensitive is None:
        return UNKNOWN, "There is no sensitive column, and attacks seek sensitive values."
    if not found:
        told = "" if facts.outdated is None else f" {last_attack(facts, facts.outdated)}"
        return UNKNOWN, f"Not measured: no attack was made on the series as it is now.{told}"
    return strongest(found, limit_of(facts))


def last_attack(facts: SeriesFacts, one: Assessment) -> str:
    """When an assessment was made that is no longer true, with which releases, and what came after it."""
    later = len(facts.releases) - one.releases
    came = f"{_releases(later)} came after it" if later > 0 else "people were forgotten after it"
    return (
        f"The last one was made {minute(one.made_at)} UTC, after {_releases(one.releases)}; the series has changed "
        f"since: {came}."
    )


def limit_of(facts: SeriesFacts) -> float | None:
    """The share of people that the gate lets attacks determine; `None` where it says nothing of that."""
    return None if facts.gate is None else facts.gate["limits"].get("max_determined")


def strongest_first(found: Sequence[Assessment]) -> list[Assessment]:
    """Assessments that sought values, the one with the strongest attack first."""
    sought = [one for one in found if one.found]
    return sorted(
        sought, key=lambda one: max(strength(after[-1]) for after in one.found.values()), reverse=True
    )


def strongest(found: Sequence[Assessment], limit: float | None) -> tuple[str, str]:
    """A mark and a sentence: who finds most of all who were measured, and what she finds.

    That nobody is determined keeps the limit of the gate, where there is one.
    """
    one = strongest_first(found)[0]
    name = one.strongest
    assert name is not None
    last = one.found[name][-1]
    undecided = max((doubt.get("people", 0) for one in found for doubt in one.unclear.values()), default=0)
    more = f" At most {undecided:,} more people are undecided." if undecided else ""
    whom = (
        f"determines {last.determined:,} of {last.people:,} people ({percent(last.determined_share)}), "
        if last.determined
        else f"determines nobody of {last.people:,} people, "
    )
    good = NOBODY if limit is None else HOLDS
    mark = FOUND if last.determined else LOOK if undecided or last.above_nine_tenths else good
    return mark, (
        f"{name}: {words.ATTACKS.get(name, 'an attack')}. {_she(one.adversary)}, and after "
        f"{_releases(one.releases)} she {whom}is surer than .9 of "
        f"{percent(last.above_nine_tenths)}, {last.mean_confidence:.2f} sure on average and "
        f"{last.worst_confidence:.2f} of the worst placed person.{more}"
    )


def _she(granted: Mapping[str, Any]) -> str:
    """What she knew beforehand, as the beginning of a sentence."""
    share = granted.get("compromised") or 0
    if isinstance(share, Mapping):
        return f"She knew {share['people']:,} people beforehand"
    return f"She knew {percent(share)} of the people beforehand" if share else "She knew nobody beforehand"


def _identified(identities: Mapping[str, Sequence[Identity]]) -> tuple[str, str]:
    """What is known of whose row is whose, and of who is there."""
    said, certain = [], 0.0
    for name, figure, words_of in _CERTAIN:
        if name in identities:
            share = getattr(identities[name][-1], figure)
            certain = max(certain, share)
            said.append(f"{percent(share)} {words_of}")
    if not said:
        return UNKNOWN, "Not measured: whether rows can be followed, and what cells tell of who is present."
    return LOOK if certain else HOLDS, f"To an adversary with a register, {'; '.join(said)}."


def _gated(facts: SeriesFacts) -> tuple[str, str]:
    if facts.gate is None:
        return ABSENT, "None: releases are not refused however much adversaries would find out."
    passed = sum(bool(release.gate and release.gate.get("passed")) for release in facts.releases)
    since = f"; amendments of it: {len(facts.gate_amended)}" if facts.gate_amended else ""
    # Releases before a gate was given to the series passed none; `problems` says where a verdict is missing.
    asked = sum(release.gate is not None for release in facts.releases) if since else len(facts.releases)
    mark = HOLDS if passed == asked else BROKEN
    return mark, f"{passed} of {_releases(len(facts.releases))} passed: {facts.gate['sentence']}{since}."


def _alone(facts: SeriesFacts) -> tuple[str, str]:
    if facts.last is None:
        return UNKNOWN, "Nothing has been published yet."
    risk = facts.last.measures["prosecutor_risk"]
    above = ", ".join(f"{percent(share)} above {limit}" for limit, share in sorted(risk["above"].items()))
    mark = LOOK if risk["highest"] > 0.09 else HOLDS
    return mark, (
        f"The chance of picking a person's row is at most {risk['highest']:.3f} and {risk['average']:.3f} on average; "
        f"shares of people at risk: {above}."
    )


def _ledger(facts: SeriesFacts) -> tuple[str, str]:
    if facts.problems:
        return BROKEN, f"{'. '.join(facts.problems)}."
    return HOLDS, (
        "The chain of records is unbroken and the policy is the one that releases were made under. Files were not "
        f"read for this report; `republish verify {facts.name}` recomputes everything from them."
    )


def adversary_sentence(granted: dict[str, Any]) -> str:
    """What an adversary has, in a sentence."""
    knows = []
    if granted.get("membership") == "known":
        knows.append("who is in which group")
    if granted.get("event_lists"):
        knows.append("when people came, changed, left and returned")
    share = granted.get("compromised") or 0
    if isinstance(share, dict):
        knows.append(f"the values of {share['people']:,} people")
    elif share:
        knows.append(f"the values of {percent(share)} of the people, drawn at random")
    if granted.get("knowledge"):
        whose = (
            "knowledge given for the attack" if granted.get("own_knowledge") else "as the publisher reckons"
        )
        knows.append(f"how values follow each other ({whose})")
    listed = f" She knows {'; '.join(knows)}." if knows else ""
    cascade = " People whom she determines are known to her from then on." if granted.get("cascade") else ""
    return f"She has all releases, withdrawn ones too.{listed}{cascade}"


def assumptions(facts: SeriesFacts) -> list[str]:
    """Under what the promises and figures of this series hold."""
    said = [
        *words.EVERYWHERE,
        *words.ASSUMPTIONS.get(facts.publisher["name"], ()),
        *facts.promises["not_promised"],
    ]
    withdrawn = sum(release.withdrawn for release in facts.releases)
    if withdrawn:
        said.append(
            f"{_releases(withdrawn)} {'was' if withdrawn == 1 else 'were'} withdrawn and still counted everywhere: "
            "those who have one keep it."
        )
    if facts.forgotten:
        said.append(
            f"{facts.forgotten:,} {'person was' if facts.forgotten == 1 else 'people were'} forgotten. Should they "
            "appear again they are newcomers, and what is promised over several releases does not cover their old and "
            "new records together. People who were in a group with them may be less hidden from an adversary who "
            "knows them."
        )
    if facts.promises.get("when_published"):
        listed = ", ".join(facts.promises["when_published"])
        said.append(f"{listed} was checked when each release was made and cannot be recomputed later.")
    return said


def events(facts: SeriesFacts) -> list[str]:
    """What happened besides releases as they were expected: how views are read since, and why one was published."""
    return [
        *(f"{day(one['when'])}: {one['what']}. Reason: {one['reason']}" for one in facts.changes),
        *(
            f"Release {one.number} was published although its view was not expected. Reason: {one.expect_anyway}"
            for one in facts.releases
            if one.expect_anyway is not None
        ),
    ]


def until(facts: SeriesFacts) -> list[str]:
    """Until when the report holds."""
    if facts.last is None:
        return ["Nothing has been published; the report holds until the first release."]
    return [
        f"This report is about {_releases(len(facts.releases))}, the last as of {day(facts.last.as_of)}. It holds "
        "until the next release.",
        "The risk over the series can grow with every release, withdrawn ones included. Promises are checked again "
        "with each; make the attacks again too.",
        "It also ends when people are forgotten, or when an adversary may be granted more than what is listed here.",
    ]


def _releases(number: int) -> str:
    return f"{number:,} release{'' if number == 1 else 's'}"
