"""The risk gate: which attacks a release must withstand, what they are granted, and how much they may find out.

A gate is part of the policy and frozen with it; `republish.gate.amendment` says how it may be amended. The attacks are
run by `republish.gate.run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError
from republish.inference import METHODS

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.knowledge import Extracted, Knowledge
    from republish.publishers.contract import Publisher

LIMITS = {
    "max_determined": "determined_share",
    "max_undecided": "undecided_share",
    "max_above_nine_tenths": "above_nine_tenths",
    "max_above_half": "above_half",
    "max_confidence": "worst_confidence",
    "max_mean_confidence": "mean_confidence",
    "max_gain": "gain",
    "max_alone": "alone",
    "max_below_k": "below_k",
    "max_shown_present": "surely_present",
    "max_shown_absent": "shown_absent",
    "max_cracked": "below_k",
    "max_traced": "below_k",
    "max_told_apart": "told_apart",
}
"""Every limit and the figure that it limits."""

OF_IDENTITIES = {
    "max_alone": "linkage",
    "max_below_k": "linkage",
    "max_shown_present": "presence",
    "max_shown_absent": "presence",
    "max_cracked": "bcf",
    "max_traced": "tracing",
    "max_told_apart": "swap",
}
"""Limits on what is found without a thought of values, and the attack that each is about."""

_MOST = 2**63 - 1  # what series.toml can hold

_WITH_KNOWLEDGE = ("beliefs", "joint")
_WITHOUT = ("linear",)
_SWAP, _NEWCOMERS, _FEW = "swap", "newcomers", 0.05
_FORM = 'such as "max_determined=0.01,compromised=0.04,attacks=linear+beliefs"'


@dataclass(frozen=True, kw_only=True)
class Gate:
    """The attacks that a release must withstand together with all releases before it, and limits on what they find.

    Without `attacks`, those that suit the publisher. `compromised` people are drawn `draws` times, with `seed`,
    `seed` + 1, ..., and the worst draw counts. The other granted things are those of `republish.attacks.Adversary`.
    A limit is the highest value that is allowed: of the share of people determined exactly, of those whom the linear
    attack gave up on before it knew whether they are, of those of whom she is surer than .9 or .5, of the confidence in
    the worst person, of the mean confidence, of the mean gain. By linkage, of the share of people who are alone in
    their cells, or with fewer than the smallest cell holds; by presence, of present and of absent people of whom that
    is certain; by bcf and tracing, of people with fewer rows left than the smallest group has; by swap, of pairs who
    are distinguished. These attacks, and those by how people are put together, need the raw views of earlier releases
    with every new one; but for swap where only "newcomers" are `exchanged`, those whom the release at hand shows for
    the first time. Without `attacks` that is asked of every publisher who puts people together by their values.
    """

    attacks: tuple[str, ...] = ()
    compromised: float = 0.0
    event_lists: bool = True
    cascade: bool = True
    membership: str = "known"
    seed: int = 0
    draws: int = 3
    posterior: str = "exact"
    steps: int | None = None
    certainty: float = 1.0
    exchanged: str | None = None
    max_determined: float | None = None
    max_undecided: float | None = None
    max_above_nine_tenths: float | None = None
    max_above_half: float | None = None
    max_confidence: float | None = None
    max_mean_confidence: float | None = None
    max_gain: float | None = None
    max_alone: float | None = None
    max_below_k: float | None = None
    max_shown_present: float | None = None
    max_shown_absent: float | None = None
    max_cracked: float | None = None
    max_traced: float | None = None
    max_told_apart: float | None = None

    def __post_init__(self) -> None:
        _require_attacks(self.attacks)
        object.__setattr__(self, "attacks", tuple(self.attacks))
        for name in ("event_lists", "cascade"):
            _require(isinstance(getattr(self, name), bool), name, "true or false")
        _require(
            _is_share(self.compromised) and self.compromised < 1, "compromised", "a share from 0 to below 1"
        )
        _require(_is_whole(self.seed) and self.seed <= _MOST, "seed", "a whole number from 0 to 2^63 - 1")
        _require(_is_whole(self.draws) and 1 <= self.draws <= 100, "draws", "a whole number from 1 to 100")
        _require(self.posterior in METHODS, "posterior", f"one of {', '.join(METHODS)}")
        _require(self.steps is None or _is_whole(self.steps), "steps", "a whole number from 0 on")
        _require(_is_share(self.certainty), "certainty", "a confidence from 0 to 1")
        _require(
            self.exchanged in (None, _NEWCOMERS), "exchanged", f"{_NEWCOMERS}, or left out for everybody"
        )
        if self.membership != "known":
            raise PolicyError(
                'the gate knows who is in which group: membership must be "known". Matching needs the raw views of all '
                "releases, which a series does not keep; use `republish attack --membership matched --truth DIR`"
            )
        if not self.limits:
            raise PolicyError(f"a gate needs at least one limit; there are {', '.join(LIMITS)}")
        for name, limit in self.limits.items():
            _require(_is_share(limit), name, "a number from 0 to 1")
        if self.attacks:
            self._require_figures()

    def _require_figures(self) -> None:
        """Refuse a limit on a figure that none of the attacks can give."""
        for limit in self.limits:
            if not any(limits_attack(limit, attack) for attack in self.attacks):
                raise PolicyError(
                    f"{limit} of the gate limits a figure that {' and '.join(self.attacks)} cannot give; add the "
                    f"attack {OF_IDENTITIES.get(limit, 'linear')}, or leave the limit out"
                )

    @property
    def limits(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in LIMITS if getattr(self, name) is not None}

    @property
    def asks_what_is_certain(self) -> bool:
        """Whether no limit is about how sure she is, so that probabilities may stay rough."""
        return self.limits.keys() <= {"max_determined", "max_undecided", *OF_IDENTITIES}

    @property
    def needs_views(self) -> bool:
        """Whether an attack looks people up by their quasi-identifiers, which a series does not keep."""
        return bool(self._needing_views)

    @property
    def _needing_views(self) -> list[str]:
        at_hand = self.exchanged and _SWAP
        return [name for name in self.attacks if name in _with_views() and name != at_hand]

    def tries_newcomers(self, attack: str) -> bool:
        """Whether an attack is made on the release at hand alone, by exchanging those who are new in it."""
        return attack == _SWAP and self.exchanged is not None

    def require_views(self, given: int, releases: int) -> None:
        """Refuse to go on where the raw views of so many releases are needed and others are given."""
        if self.needs_views and given != releases:
            needing = " and ".join(self._needing_views)
            raise PolicyError(
                f"{needing} in the gate need everybody's quasi-identifiers, which a series does not keep: one raw view "
                f"is needed of each of {releases} releases, and there are {given}; give those of all releases so far "
                "(--truth DIR)"
            )

    def suiting(
        self, knowledge: Knowledge | Extracted | None, sensitive: bool, publisher: Publisher | None = None
    ) -> Gate:
        """The gate with its attacks chosen, where none were named; refused where one of them could never be made.

        Where people are put together by their values, swap is among the chosen: it costs little at the release at hand.
        """
        from republish.attacks import RETRACES, names, without_views
        from republish.attacks.choose import untraceable
        from republish.inference.joint.messages import PRODUCTS

        if not sensitive:
            raise PolicyError(
                "a gate limits what is found out of sensitive values, and the schema has no sensitive column; label one"
            )
        if not self.attacks and self.max_told_apart is None and publisher and publisher.told_by_choices:
            asked = replace(self, max_told_apart=_FEW, exchanged=_NEWCOMERS)
            return asked.suiting(knowledge, sensitive, publisher)
        attacks = self.attacks or self._fitting_limits(_WITHOUT if knowledge is None else _WITH_KNOWLEDGE)
        able = (*without_views(knowledge is not None), *_with_views())
        lacking = [name for name in attacks if name not in able]
        if lacking:
            raise PolicyError(
                f"{lacking[0]} in the gate needs to know how values follow each other, and this publisher has no "
                "knowledge; take js-reduce or bayframe, or another attack"
            )
        for name in (name for name in attacks if name in names(RETRACES)):
            reason = untraceable(name, publisher.forming if publisher else None)
            if reason is not None:
                raise PolicyError(f"{name} in the gate could never be made: {reason}; take another attack")
        if "joint" in attacks:
            _require(self.posterior in PRODUCTS, "posterior", f"one of {', '.join(PRODUCTS)} for joint")
        return replace(self, attacks=attacks)

    def _fitting_limits(self, seeking: tuple[str, ...]) -> tuple[str, ...]:
        """The attacks that the limits are about, where none were named: those `seeking` values, and the others."""
        others = dict.fromkeys(OF_IDENTITIES[limit] for limit in self.limits if limit in OF_IDENTITIES)
        return (*(seeking if self.limits.keys() - OF_IDENTITIES.keys() else ()), *others)

    def drawn(self, attack: str) -> int:
        """How many times people are drawn for an attack: once where it makes no use of compromised people."""
        from republish.attacks.registry import kind_of

        return self.draws if self.compromised and kind_of(attack).uses_known else 1

    def adversaries(self, knowledge: Knowledge | Extracted | None) -> list[Adversary]:
        """The adversary of every draw; one where nobody is compromised."""
        from republish.attacks import AdversaryOptions

        granted = AdversaryOptions.among(vars(self) | {"compromised": float(self.compromised)})
        draws = range(self.draws if self.compromised else 1)
        return [replace(granted, seed=self.seed + draw).adversary(knowledge) for draw in draws]

    def document(self) -> dict[str, Any]:
        """What `[gate]` in `series.toml` says, every default spelled out."""
        said = {key: value for key, value in asdict(self).items() if value is not None}
        return {**said, "attacks": list(self.attacks)}

    def sentence(self) -> str:
        """Attacks, what they are granted, and limits, in a line."""
        limits = ", ".join(f"{name}={limit:g}" for name, limit in self.limits.items())
        told = f" with {self.compromised:.1%} of people compromised" if self.compromised else ""
        return f"{', '.join(self.attacks)}{told}; {limits}"

    def public(self) -> dict[str, Any]:
        """What recipients are told: attacks, what they are granted, limits; no seed, and none of the figures."""
        granted = {"compromised": self.compromised, "event_lists": self.event_lists}
        return {"attacks": list(self.attacks), "granted": granted, "limits": self.limits}


def _with_views() -> list[str]:
    """The attacks of a gate that need everybody's quasi-identifiers."""
    from republish.attacks.registry import IDENTIFIES, RETRACES, SWAPS, names

    return names(RETRACES, IDENTIFIES, SWAPS)


def limits_attack(limit: str, attack: str) -> bool:
    """Whether a limit is about an attack: only some seek values, and only some say whom they gave up on."""
    from republish.attacks.registry import IDENTIFIES, SWAPS, kind_of

    if limit in OF_IDENTITIES or kind_of(attack).way in (IDENTIFIES, SWAPS):
        return OF_IDENTITIES.get(limit) == attack
    return limit != "max_undecided" or kind_of(attack).gives_up


def gate_from_mapping(section: Any) -> Gate:
    """The gate that `[gate]` describes."""
    if not isinstance(section, Mapping):
        raise PolicyError("[gate] must be a table of settings, such as max_determined = 0.01")
    allowed = [item.name for item in fields(Gate)]
    unknown = sorted(set(section) - set(allowed))
    if unknown:
        raise PolicyError(f"[gate] has no setting {', '.join(unknown)}; it may have {', '.join(allowed)}")
    given = dict(section)
    if "attacks" in given:
        attacks = given["attacks"]
        _require(isinstance(attacks, list) and len(attacks) > 0, "attacks", "a list of names")
        given["attacks"] = tuple(attacks)
    return Gate(**given)


def parse_gate(text: str) -> Gate:
    """The gate in a text: settings by commas, attacks joined by a plus."""
    return gate_from_mapping(parse_settings(text))


def parse_settings(text: str) -> dict[str, Any]:
    """The settings of a gate in a text, by name."""
    given: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if not name or not value:
            raise PolicyError(f"a gate is written NAME=VALUE by commas, {_FORM}")
        if name in given:
            raise PolicyError(f"{name} is given twice in the gate")
        given[name] = _read(name, value)
    return given


def _read(name: str, value: str) -> Any:
    """A setting as the type that its text spells."""
    if name == "attacks":
        return [attack.strip() for attack in value.split("+")]
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _require_attacks(attacks: Any) -> None:
    from republish.attacks import without_views
    from republish.attacks.registry import kind_of

    _require(
        isinstance(attacks, tuple | list) and all(isinstance(name, str) for name in attacks),
        "attacks",
        "names",
    )
    possible = [*without_views(), *_with_views()]
    for name in attacks:
        kind_of(name)
        if name not in possible:
            raise PolicyError(
                f"the gate cannot make the attack {name}, for it needs the raw views of all releases, which a "
                f"series does not keep; it can make {', '.join(possible)}"
            )
    if len(set(attacks)) != len(attacks):
        raise PolicyError("the gate names an attack twice; name each once")


def _require(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise PolicyError(f"{name} of the gate must be {what}; correct it in [gate] or --gate")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
