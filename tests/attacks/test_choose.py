"""Which attacks can be made with what is given: one answer for command, desk, gate, report and engine."""

from __future__ import annotations

import pytest

from republish import PolicyError
from republish.attacks import (
    BELIEVES,
    EXCLUDES,
    KINDS,
    Adversary,
    AdversaryOptions,
    Means,
    names,
    without_views,
)
from republish.knowledge import Knowledge

MATCHING = Adversary(membership="matched")


def knowing() -> Adversary:
    return Adversary(knowledge=Knowledge.__new__(Knowledge))  # only that there is some matters here


def test_named_attacks_are_taken_once_and_in_order() -> None:
    assert Means(Adversary()).choose(["tau", "linear", "tau"]) == (["tau", "linear"], {})


def test_without_names_all_that_can_be_made_are_and_the_others_have_a_reason() -> None:
    chosen, left_out = Means(Adversary()).choose(None)
    assert chosen == names(EXCLUDES)
    assert [*chosen, *left_out] == list(KINDS)
    assert "how values follow each other" in left_out["beliefs"]
    assert "raw views" in left_out["matched"]


def test_a_named_attack_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(PolicyError, match="matched cannot be made: it looks people up"):
        Means(Adversary()).choose(["tau", "matched"])


def test_where_no_attack_can_be_made_every_reason_is_told_once() -> None:
    with pytest.raises(PolicyError, match="no attack can be made") as refused:
        Means(MATCHING).choose(None)
    assert str(refused.value).count("who is in which group") == 1
    with pytest.raises(PolicyError, match="at least one attack must be named"):
        Means(Adversary()).choose([])


@pytest.mark.parametrize(
    ("means", "name", "reason"),
    [
        (Means(knowing(), views=True, foreign=True), "joint", "classes of people"),
        (Means(Adversary(), views=True, foreign=True), "minimality", "cannot be run again"),
        (Means(Adversary(), views=True, after_each=True), "suppression", "no figures after each release"),
        (Means(Adversary(), views=True, after_each=True), "matched", "make it alone"),
        (Means(Adversary(), after_each=True), "linkage", "raw views"),
        (Means(Adversary()), "presence", "raw views"),
        (Means(Adversary(), in_parts=("tau", "beliefs")), "linear", "all people and releases at once"),
        (Means(Adversary(), in_parts=("tau", "beliefs")), "beliefs", "how values follow each other"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way(means: Means, name: str, reason: str) -> None:
    assert reason in str(means.obstacle(name))
    assert name in means.choose(None).left_out


def test_an_engine_says_which_attacks_it_can_make() -> None:
    with pytest.raises(
        PolicyError, match=r"linear cannot be made in parts: .* tau and beliefs can; .* --engine"
    ):
        Means(Adversary(), in_parts=("tau", "beliefs")).require(["linear"])


def test_what_a_series_keeps_is_enough_for_those_that_exclude_and_with_knowledge_for_those_that_believe() -> (
    None
):
    assert without_views(knowledge=False) == names(EXCLUDES)
    assert without_views() == names(EXCLUDES, BELIEVES)
    for name in without_views():
        assert Means(knowing()).obstacle(name) is None


def test_options_of_any_origin_make_the_same_adversary() -> None:
    hers = Adversary(0.1, False, 4, certainty=0.9)
    settings = {"compromised": 0.1, "event_lists": False, "seed": 4, "certainty": 0.9}
    assert AdversaryOptions.from_mapping(settings).adversary() == hers
    assert AdversaryOptions.among(settings | {"plot": "x.png", "steps": None}).adversary() == hers


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"people": [1]}, "no setting people; she may have compromised, event_lists, seed"),
        ({"compromised": True}, "compromised of an adversary must be int or float"),
        ({"event_lists": 1}, "event_lists of an adversary must be bool"),
        ({"steps": 1.5}, "steps of an adversary must be int or NoneType"),
        ({"compromised": 2}, "compromised must be a share"),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        AdversaryOptions.from_mapping(settings)
