"""What the report says of the facts: figures side by side and sentences, the same for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import republish
from republish.attacks.assessments import Assessment
from republish.attacks.summary import ranked
from republish.gate.verdict import used, verdict_from
from republish.publishing.policy_record import safer_publishers
from republish.report import words
from republish.report.facts import ReleaseFacts, SeriesFacts
from republish.report.sentences import (
    adversary_sentence,
    assumptions,
    events,
    last_attack,
    limit_of,
    statements,
    strongest,
    strongest_first,
    until,
)
from republish.report.signing import signing
from republish.report.usefulness import for_analysts
from republish.show.adopted import assumed, kept_and_found
from republish.show.numbers import percent
from republish.show.promises import words_on_release

if TYPE_CHECKING:
    from republish.attacks import Identity


def content_of(facts: SeriesFacts, made_at: str) -> dict[str, Any]:
    """Everything that a report says, as plain data."""
    found = current_assessments(facts)
    sought = strongest_first(found)
    identities = identities_of(found)
    return {
        "name": facts.name,
        "title": facts.title,
        "signing": signing(facts, sought),
        "made_at": made_at,
        "tool": republish.__version__,
        "tools": sorted({release.tool for release in facts.releases}),
        "facts": facts,
        "statements": statements(facts, sought, identities),
        "columns": [column | {"what": _roles(facts)[column["role"]]} for column in facts.columns],
        "method": words.method(facts.publisher["name"], facts.form is not None) or facts.publisher["summary"],
        "tables": tables_of(facts),
        "form": _form(facts),
        "parameters": _parameters(facts),
        "adopted": [
            {"number": one.number, "assumed": assumed(one.adopted), "found": kept_and_found(one.adopted)}
            for one in facts.releases
            if one.adopted
        ],
        "events": events(facts),
        "checks": checks_over_time(facts.releases),
        "safer": safer_publishers(),
        "usefulness": usefulness(facts.releases),
        "analysts": for_analysts(facts),
        "risks": _risks(facts.last),
        "of_groups": _of_groups(facts),
        "serial": [_serial(one, limit_of(facts)) for one in sought],
        "identities": described_identities(identities),
        "outdated": _outdated(facts),
        "gate": gate_over_time(facts.releases),
        "assumptions": assumptions(facts),
        "until": until(facts),
        "words": words,
    }


def tables_of(facts: SeriesFacts) -> dict[str, tuple[str, ...]]:
    """What rows and columns are called: in one table, in two, or where batches keep counts of earlier releases."""
    if facts.form is None:
        return words.TABLES
    return words.KEPT_COUNTS if facts.publisher["keeps_counts"] else words.TWO_TABLES


def _roles(facts: SeriesFacts) -> dict[str, str]:
    return words.ROLES if facts.form is None else words.ROLES | words.ROLES_IN_TWO_TABLES


def _form(facts: SeriesFacts) -> dict[str, Any] | None:
    """What is said of two tables: batches by release, what recipients can do, what register-holders learn more."""
    if facts.form is None:
        return None
    counts = [(release.number, release.two_tables) for release in facts.releases if release.two_tables]
    return facts.form | {
        "counts": [{"release": number, **found} for number, found in counts],
        "recipients": words.RECIPIENTS,
        "register_holders": words.HIDDEN_BATCHES if facts.form.get("hide_batch") else words.REGISTER_HOLDERS,
    }


def current_assessments(facts: SeriesFacts) -> list[Assessment]:
    """What attacks found that is still true: one assessment for each adversary, the newest figures of each attack."""
    by_adversary: dict[str, Assessment] = {}
    for one, holds in zip(facts.assessments, facts.current, strict=True):
        if not holds:
            continue
        key = repr(sorted(one.adversary.items()))
        before = by_adversary.pop(key, None)
        by_adversary[key] = one if before is None else _joined(before, one)
    return list(reversed(by_adversary.values()))


def _joined(before: Assessment, after: Assessment) -> Assessment:
    found, left_out = before.found | after.found, before.left_out | after.left_out
    unclear = {name: doubt for name, doubt in before.unclear.items() if name not in after.found}
    return replace(
        after,
        found=found,
        left_out={name: why for name, why in left_out.items() if name not in found},
        unclear=unclear | after.unclear,
        identities=before.identities | after.identities,
        spread=before.spread | after.spread,
        by_release=before.by_release | after.by_release,
    )


def identities_of(found: Sequence[Assessment]) -> dict[str, tuple[Identity, ...]]:
    """What attacks found that seek no value, the newest of each: what an adversary is granted makes no difference."""
    newest = sorted(found, key=lambda one: one.made_at)
    return {name: after for one in newest for name, after in one.identities.items()}


def described_identities(identities: Mapping[str, Sequence[Identity]]) -> list[dict[str, Any]]:
    """Every figure of attacks that seek no value, with what it says, after the last release and after each."""
    described = []
    for name, after in identities.items():
        figures = [asdict(part) for part in after]
        rows = [
            {
                "figure": figure,
                "says": says,
                "share": not figure.startswith(("median", "fewest")),
                "last": figures[-1][figure],
                "after_release": [part[figure] for part in figures],
            }
            for figure, says in words.IDENTITIES[name].items()
            if figures[-1][figure] is not None
        ]
        described.append({"name": name, "says": words.ATTACKS[name], "rows": rows, "releases": len(after)})
    return described


def _parameters(facts: SeriesFacts) -> list[tuple[str, Any, str]]:
    own = words.PARAMETERS_OF.get(facts.publisher["name"], {})
    return [
        (name, value, own.get(name, words.PARAMETERS.get(name, "")))
        for name, value in facts.publisher["parameters"].items()
    ]


def checks_over_time(releases: Sequence[ReleaseFacts]) -> list[dict[str, Any]]:
    """Every promise that was checked: in how many releases, how many held, and what the weakest group reached."""
    rows: dict[str, dict[str, Any]] = {}
    for release in releases:
        for check in release.checks:
            row = rows.setdefault(check["promise"], {"releases": 0, "held": 0, "unchecked": 0, "span": []})
            row |= {key: check[key] for key in ("promise", "meaning", "reached")}
            row["releases"] += 1
            row["held"] += bool(check["holds"])
            row["unchecked"] += check.get("unchecked", 0)
            row["span"] += [] if check["reached"] is None else [check["reached"]]
    for row in rows.values():
        row["span"] = [min(row["span"]), max(row["span"])] if row["span"] else None
    return list(rows.values())


def usefulness(releases: Sequence[ReleaseFacts]) -> dict[str, Any] | None:
    """The last release beside the one before it and the mean of all earlier ones; `None` before the first."""
    if not releases:
        return None
    measures = [release.measures for release in releases]
    last, earlier = measures[-1], measures[:-1]
    columns = [
        ("certainty penalty", *_beside(last, earlier, lambda one: one["penalty"])),
        *(
            (
                f"penalty of {name}",
                *_beside(last, earlier, lambda one, name=name: one["penalty_by_column"][name]),
            )
            for name in last["penalty_by_column"]
        ),
        ("rows of the average group", *_beside(last, earlier, lambda one: one["average_class_size"])),
    ]
    return {"rows": columns, "sentence": _compared(last["penalty"], [one["penalty"] for one in earlier])}


def _beside(last: Any, earlier: Sequence[Any], figure: Any) -> tuple[float, float | None, float | None]:
    if not earlier:
        return figure(last), None, None
    return figure(last), figure(earlier[-1]), fmean(map(figure, earlier))


def _compared(last: float, earlier: Sequence[float]) -> str:
    if not earlier:
        return "This is the first release; there is none to compare with."
    mean = fmean(earlier)
    if abs(last - mean) < 0.005:
        return "The last release is about as precise as earlier ones on average."
    how = "less" if last > mean else "more"
    share = f" ({abs(last - mean) / mean:.0%} {'more' if last > mean else 'less'} penalty)" if mean else ""
    return f"The last release is {how} precise than earlier ones on average{share}."


def _of_groups(facts: SeriesFacts) -> list[str]:
    """What is said of the groups of the last release."""
    if facts.last is None:
        return []
    said = words_on_release(facts.last.as_dict(), facts.publisher["keeps_counts"])
    return [f"In the last release {sentence.removeprefix('warning: ')}." for sentence in said]


def _risks(last: ReleaseFacts | None) -> list[dict[str, Any]]:
    if last is None:
        return []
    rows = []
    for name, meaning in words.RISKS.items():
        figure = last.measures[f"{name.lower()}_risk"]
        row = {"name": name, "meaning": meaning, "highest": None, "above": None}
        rows.append(row | (figure if isinstance(figure, dict) else {"average": figure}))
    return rows


def _serial(one: Assessment, limit: float | None) -> dict[str, Any]:
    order = ranked(one.found)
    return {
        "made_at": one.made_at,
        "releases": one.releases,
        "adversary": one.adversary,
        "sentence": adversary_sentence(one.adversary),
        "strongest": {
            "attack": order[0],
            **dict(zip(("mark", "text"), strongest([one], limit), strict=True)),
        },
        "confidence": confidence_of(one),
        "rows": [(name, words.ATTACKS.get(name, ""), asdict(one.found[name][-1])) for name in order],
        "after_release": {name: [asdict(part) for part in one.found[name]] for name in order},
        "notes": [*_doubts(one), *(f"{name} was not made: {why}" for name, why in one.left_out.items())],
        "assessment": one,
    }


def confidence_of(one: Assessment) -> dict[str, Any] | None:
    """How sure the strongest attack is of people: by parts, and of the worst placed over time; `None` in older ones."""
    name = one.strongest
    if name is None or name not in one.spread or name not in one.by_release:
        return None
    people = one.spread[name][-1]
    ends = [(part + 1) / len(people) for part in range(len(people))]
    return {
        "attack": name,
        "people": [
            {"up_to": round(end, 2), "people": count} for end, count in zip(ends, people, strict=True)
        ],
        "worst_after": [part.worst_confidence for part in one.found[name]],
        "worst_in": [part.worst_confidence if part.people else None for part in one.by_release[name]],
        "mean_after": [part.mean_confidence for part in one.found[name]],
    }


def _doubts(one: Assessment) -> list[str]:
    said = []
    for name, doubt in one.unclear.items():
        people = one.found[name][-1].people
        if doubt.get("undecided"):
            said.append(
                f"{name}: at most {doubt['people']:,} more people ({percent(doubt['people'] / max(people, 1))}) are "
                "undecided. The budget ran out before a second value was found, so they may be determined too."
            )
        if doubt.get("unsettled"):
            said.append(
                f"{name}: the probabilities of {doubt['unsettled']:,} episodes (times with one value) had not settled; "
                "the confidence in them is rough."
            )
        if doubt.get("unsolved"):
            said.append(
                f"{name}: the equations of {doubt['unsolved']:,} episodes (times with one value) were too many to "
                "solve, and they were only searched."
            )
    return said


def _outdated(facts: SeriesFacts) -> dict[str, Any] | None:
    """The newest assessment that is no longer true, where none is: when it was made, and what was found then."""
    old = facts.outdated
    if old is None:
        return None
    found = strongest([old], limit_of(facts))[1] if old.found else ""
    return {
        "made_at": old.made_at,
        "releases": old.releases,
        "sentence": last_attack(facts, old),
        "found": found,
    }


def gate_over_time(releases: Sequence[ReleaseFacts]) -> list[dict[str, Any]]:
    """What the gate's attacks found before each release, the worst draw of each, by limit and attack."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for release in releases:
        if release.gate is None:
            continue
        verdict = verdict_from(release.gate)
        for attack, figures in verdict.worst().items():
            for limit, figure in figures.items():
                row = rows.setdefault(
                    (limit, attack),
                    {"limit": limit, "attack": attack, "allowed": verdict.limits[limit], "found": {}},
                )
                row["found"][release.number] = figure
                row["allowed"] = verdict.limits[limit]  # an amendment may have changed it
    for row in rows.values():
        row["last"], row["worst"] = list(row["found"].values())[-1], max(row["found"].values())
    return sorted(rows.values(), key=lambda row: -used(row["last"], row["allowed"]))
