"""What attacks found, as the desk shows it: charts as plain data, the strongest attack first and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from republish.attacks.summary import ranked
from republish.report.content import confidence_of, described_identities
from republish.report.sentences import (
    FOUND,
    HOLDS,
    LOOK,
    NOBODY,
    limit_of,
    strongest,
    strongest_first,
)
from republish.report.words import ATTACKS
from republish.show.colours import BAD, GOOD, NEUTRAL, WARN, status_of
from republish.show.numbers import spaced_percent, written_moment
from republish.web.charts import lines, verdicts

if TYPE_CHECKING:
    from republish.attacks.assessments import Assessment
    from republish.attacks.summary import Summary
    from republish.report.facts import SeriesFacts

_NOTES = {FOUND: BAD, LOOK: WARN, HOLDS: GOOD, NOBODY: NEUTRAL}


def serial(series: SeriesFacts) -> tuple[dict[str, Any] | None, str]:
    """What the gate recorded at each release and what the newest assessment found, and what the chart says."""
    numbers = [one.number for one in series.releases]
    drawn: dict[str, list[float | None]] = {}
    limits: dict[str, float] = {}
    attacks: dict[str, str] = {}
    for place, release in enumerate(series.releases):
        for one in verdicts(release.gate):
            name = f"gate, {one['attack']}: {one['words']}"
            attacks[name] = one["attack"]
            drawn.setdefault(name, [None] * len(numbers))[place] = one["found"]
            limits[f"limit {spaced_percent(one['allowed'])}"] = one["allowed"]
    worst = _worst_of(series)
    if worst is not None:
        found = {name: [one.determined_share for one in after] for name, after in worst.found.items()}
        finding = {name: values for name, values in found.items() if any(values)}
        for name, values in (finding or dict(list(found.items())[-1:])).items():
            attacks[f"{name}: determined"] = name
            drawn[f"{name}: determined"] = _over(values, len(numbers))
        if worst.strongest is not None:
            sure = [one.above_nine_tenths for one in worst.found[worst.strongest]]
            drawn[f"{worst.strongest}: surer than 90 %"] = _over(sure, len(numbers))
    if not drawn:
        return None, ""
    said = [{"name": name, "value": value, "always": True} for name, value in limits.items()]
    origin = "as the gate measured it before each release"
    if worst is not None:
        origin = f"by an adversary who {knows(worst.adversary)}. Attacks that determine nobody are not drawn"
    return lines(
        numbers, drawn, said, attacks
    ), f"Share of people about whom something is found out, {origin}."


def _over(values: Sequence[float], releases: int) -> list[float | None]:
    """Figures of the first releases, nothing for those that came later."""
    return [*values, *[None] * (releases - len(values))][:releases]


def _worst_of(series: SeriesFacts) -> Assessment | None:
    """The assessment that found most, of those that are still true; the newest where none is."""
    true = [one for one, holds in zip(series.assessments, series.current, strict=True) if holds]

    known = true or series.assessments[-1:]
    return next(iter([*strongest_first(known), *known]), None)


def strongest_of(series: SeriesFacts) -> dict[str, Any] | None:
    """Who finds most of all whose figures are still true: a sentence, its mark, and how sure she is of people."""
    true = [one for one, holds in zip(series.assessments, series.current, strict=True) if holds and one.found]
    if not true:
        return None
    mark, text = strongest(true, limit_of(series))
    one = strongest_first(true)[0]
    assert one.strongest is not None
    last = one.found[one.strongest][-1]
    return {"note": _NOTES[mark], "text": text, "attack": one.strongest, "last": last, **sureness(one)}


def sureness(one: Assessment) -> dict[str, Any]:
    """Charts of how many people the strongest attack is how sure of, and of how sure it is over time."""
    found = confidence_of(one)
    if found is None:
        return {"spread": None, "worst": None}
    people = found["people"]
    step = people[0]["up_to"]
    spread = {
        "kind": "bars",
        "x": [f"{100 * (part['up_to'] - step):.0f}-{100 * part['up_to']:.0f} %" for part in people],
        "values": [part["people"] for part in people],
        "xname": f"confidence of {found['attack']}",
        "yname": "people",
        "red_from": next(i for i, part in enumerate(people) if part["up_to"] > 0.9 + 1e-9),
    }
    drawn = {
        "worst person after it": found["worst_after"],
        "worst person in it": found["worst_in"],
        "mean after it": found["mean_after"],
    }
    return {"spread": spread, "worst": lines(range(1, one.releases + 1), drawn)}


def assessment(one: Assessment, current: bool, limit: float | None) -> dict[str, Any]:
    """What one assessment found, for the page of attacks; `limit` is that of the gate on people determined."""
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "says": ATTACKS.get(name, ""),
            "last": last,
            "status": _status(last, limit),
        }
        for name, last in ((name, one.found[name][-1]) for name in ranked(one.found))
    ]
    mark, text = strongest([one], limit) if rows else ("", "")
    drawn = {row["name"]: [s.determined_share for s in one.found[row["name"]]] for row in rows}
    first = rows[0] if rows else None
    short, plural = knows(one.adversary), "release" if one.releases == 1 else "releases"
    return {
        "made_at": one.made_at,
        "releases": one.releases,
        "current": current,
        "rows": rows,
        "left_out": one.left_out,
        "identities": described_identities(one.identities),
        "short": short,
        "words": f"Made {written_moment(one.made_at)} on {one.releases} {plural} by an adversary who {short}.",
        "determined": first["last"].determined_share if first else None,
        "above": first["last"].above_nine_tenths if first else None,
        "strongest_name": first["name"] if first else "none sought values",
        "note": _NOTES.get(mark, ""),
        "text": text,
        **sureness(one),
        "strongest": [s.above_nine_tenths for s in one.found[first["name"]]] if first else [],
        "chart": lines(range(1, one.releases + 1), drawn, attacks={name: name for name in drawn}),
        "identities_chart": lines(range(1, one.releases + 1), _shares(one)),
    }


def _status(last: Summary, limit: float | None) -> str:
    """The colour of what an attack found: never green while it is nearly sure of people."""
    status = status_of(last.determined_share, limit, found=last.determined > 0)
    return WARN if status != BAD and last.above_nine_tenths else status


def _shares(one: Assessment) -> dict[str, list[float | None]]:
    """The shares that attacks found which seek no value, after each release."""
    return {
        f"{found['name']}: {row['figure'].replace('_', ' ')}": row["after_release"]
        for found in described_identities(one.identities)
        for row in found["rows"]
        if row["share"]
    }


def knows(adversary: Mapping[str, Any]) -> str:
    """What an adversary was granted, in a few words."""
    known = adversary.get("compromised", 0)
    people = (
        spaced_percent(known) + " of the people"
        if isinstance(known, (int, float))
        else f"{known['people']} people"
    )
    said = [f"knows {people}"]
    said += [] if adversary.get("event_lists", True) else ["not when people came and left"]
    said += [] if adversary.get("cascade", True) else ["goes no further with whom she finds"]
    return ", ".join(said)


def compared(shown: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Of how many the strongest attack of each of the last assessments is nearly sure; `None` where there is one."""
    shown = [one for one in shown if one["rows"]]  # some sought no values
    if len(shown) < 2:
        return None
    most = max(one["releases"] for one in shown)
    drawn = {
        f"{written_moment(one['made_at'])}: {one['short']}": [
            *one["strongest"],
            *[None] * (most - one["releases"]),
        ]
        for one in shown[:6]
    }
    return lines(range(1, most + 1), drawn)
