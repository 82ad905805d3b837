"""How sure an adversary is of true values, in numbers without names."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from republish.arrays import FloatArray
from republish.attacks.summary import Summary
from republish.hooks import html_of
from republish.inference import FULL


@dataclass(frozen=True)
class Sureness:
    """How sure she is of the true values of some published rows, and what she gained over counting.

    With p her posterior of the true value and f its share among the published rows of the group, `gain` is the mean of
    (p - f) / (1 - f), 0 where f = 1 (JS-reduce, section 7.2), `absolute_gain` that of |p - f| / (1 - f), |1 - p| where
    f = 1 (BayFrame, eq. 8). Confidence is p: its mean, its 95th percentile, the shares of rows above .5 and .9, and
    its highest.
    """

    rows: int
    gain: float
    absolute_gain: float
    mean_confidence: float
    confidence_95: float
    above_half: float
    above_nine_tenths: float
    worst_confidence: float

    @classmethod
    def of(cls, p: FloatArray, f: FloatArray) -> Sureness:
        """The figures of some rows; all 0 where there are none."""
        if not len(p):
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return cls(
            rows=len(p),
            gain=float(signed_gain(p, f).mean()),
            absolute_gain=float(absolute_gain(p, f).mean()),
            mean_confidence=float(p.mean()),
            confidence_95=float(np.percentile(p, 95)),
            above_half=float((p > 0.5).mean()),
            above_nine_tenths=float((p > 0.9).mean()),
            worst_confidence=float(p.max()),
        )


def signed_gain(p: FloatArray, f: FloatArray) -> FloatArray:
    """The gain of every row (JS-reduce, section 7.2): negative where she is led astray, 0 where f = 1."""
    return np.divide(p - f, 1.0 - f, out=np.zeros_like(p), where=f < 1.0)


def absolute_gain(p: FloatArray, f: FloatArray) -> FloatArray:
    """The gain of every row (BayFrame, eq. 8; the printed condition must read f != 1)."""
    return np.divide(np.abs(p - f), 1.0 - f, out=np.abs(1.0 - p), where=f < 1.0)


@dataclass(frozen=True)
class Believed:
    """How sure she is in one release, or in all of them.

    `uncompromised` are the rows of which she was told nothing, `None` where that is every row. `used` are the shares
    of rows by the method that made their posterior, "certain" those she was told. `fallbacks` is the share of rows in
    whose group her knowledge rules out what was published, `unsettled` that of rows whose estimate had not settled.
    """

    everyone: Sureness
    uncompromised: Sureness | None
    used: dict[str, float]
    fallbacks: float
    unsettled: float

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self.everyone), **{k: v for k, v in asdict(self).items() if k != "everyone"}}


def looked_at(steps: int | None) -> str:
    """So many last values, all of them, or none, in a word or two."""
    if steps is None:
        return FULL
    return f"{steps}-step" if steps else "snapshot"


@dataclass(frozen=True)
class BeliefResult:
    """What an adversary believes who knows how values follow each other: figures of every release and of all.

    `steps` are the last values she looks at, `None` for as many as her knowledge has. Of all rows together `overall`
    speaks; `ever_above_half` and `ever_above_nine_tenths` are shares of the `people`: in some release she is so sure of
    the value, without having been told. `confidence` and `share`, p and f, run parallel to the history's appearances.
    `summary` and `by_release` are the figures that every attack has, of people she was not told of in that release;
    `risk` is each person's highest confidence, nan for who was not attacked.
    """

    posterior: str
    steps: int | None
    releases: tuple[Believed, ...]
    overall: Believed
    people: int
    ever_above_half: float
    ever_above_nine_tenths: float
    confidence: FloatArray = field(repr=False)
    share: FloatArray = field(repr=False)
    summary: Summary
    by_release: tuple[Summary, ...]
    risk: FloatArray = field(repr=False)
    name: str = "beliefs"

    @property
    def label(self) -> str:
        return looked_at(self.steps)

    _repr_html_ = html_of("attack_html")

    def as_dict(self) -> dict[str, Any]:
        """A JSON document of the figures; nothing in it belongs to a single person."""
        return {
            "attack": self.name,
            "posterior": self.posterior,
            "steps": FULL if self.steps is None else self.steps,
            "people": self.people,
            "ever_above_half": self.ever_above_half,
            "ever_above_nine_tenths": self.ever_above_nine_tenths,
            "summary": asdict(self.summary),
            "overall": self.overall.as_dict(),
            "releases": [{"release": i, **part.as_dict()} for i, part in enumerate(self.releases, 1)],
        }
