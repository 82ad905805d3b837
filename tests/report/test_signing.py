"""What stands on top of the report: whether it can be signed, why, what next, and who answers for it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from report.marked import make
from republish import Adversary, Mondrian, PolicyError, Series
from republish.attacks.assessments import Assessment, assess
from republish.report import facts_of, make_report
from republish.report.facts import SeriesFacts
from republish.report.signing import signing
from republish.report.usefulness import NOT_MEASURED, for_analysts, kept

GATE = {"attacks": ["linear"], "limits": {"max_determined": 0.5}, "sentence": "", "granted": {}, "draws": 1}


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    return make(tmp_path_factory.mktemp("signing") / "weekly", 2)


@pytest.fixture(scope="module")
def facts(series: Series) -> SeriesFacts:
    return facts_of(series)


@pytest.fixture(scope="module")
def attacked(series: Series) -> Assessment:
    """As if every attack had been made; nobody is found by tau."""
    return _everything(assess(series, Adversary(), ["tau"]))


def _everything(one: Assessment, **found: float) -> Assessment:
    """The same of all attacks, with other figures after the last release."""
    names = ("intersection", "tau", "compromised", "historical", "differencing", "linear")
    usual = {"determined": 0, "determined_share": 0.0, "above_nine_tenths": 0.0, "worst_confidence": 0.3}
    after = [replace(part, **(usual | found)) for part in one.found["tau"]]
    return replace(one, found=dict.fromkeys(names, tuple(after)), unclear={})


def test_nothing_published_cannot_be_signed_yet(facts: SeriesFacts) -> None:
    found = signing(replace(facts, releases=[]), [])
    assert (found["mark"], found["why"]) == ("unknown", ["Nothing has been published."])


def test_without_an_attack_it_cannot_be_signed_yet(facts: SeriesFacts) -> None:
    found = signing(facts, [])
    assert found["title"] == "Cannot be signed yet"
    assert found["why"][0].startswith("No attack was made on the series as it is now")
    assert "`republish report weekly -o report.html --attack all --compromised 0.04`" in found["next"][0]


def test_attacks_that_were_not_made_are_named(facts: SeriesFacts, attacked: Assessment) -> None:
    some = replace(attacked, found={name: attacked.found[name] for name in ("intersection", "tau")})
    found = signing(facts, [some])
    assert found["mark"] == "unknown"
    assert (
        "Attacks that may find more were not made: compromised, historical, differencing, linear."
        in found["why"]
    )


def test_where_values_follow_each_other_who_knows_how_must_have_attacked(
    facts: SeriesFacts, attacked: Assessment
) -> None:
    ordered = replace(facts, situation={"order": True})
    without = replace(attacked, left_out={"joint": "it needs to know how values follow each other"})
    found = signing(ordered, [without])
    assert found["title"] == "Cannot be signed yet"
    assert "no attack with this knowledge was made" in found["why"][0]
    assert "`republish learn KNOWLEDGE VIEW.csv ... --schema weekly`" in found["next"][0]
    assert "`republish attack weekly --knowledge KNOWLEDGE --compromised 0.04 --keep`" in found["next"][0]
    joint = replace(attacked, found=attacked.found | {"joint": attacked.found["tau"]})
    assert signing(ordered, [joint])["title"] == "Can be signed"
    assert signing(replace(facts, situation={"order": False}), [without])["title"] == "Can be signed"


def test_where_nobody_is_found_it_can_be_signed(facts: SeriesFacts, attacked: Assessment) -> None:
    found = signing(facts, [attacked])
    assert found["title"] == "Can be signed"
    assert "set one with `republish amend weekly --gate recommended`." in found["next"][0]
    assert "determines nobody of 65 people, and is at most 0.30 sure of anybody." in found["why"][1]
    assert "" not in found["why"]


def test_people_who_are_found_forbid_a_signature(facts: SeriesFacts, attacked: Assessment) -> None:
    found = signing(facts, [_everything(attacked, determined=50, determined_share=0.777)])
    assert found["mark"] == "found"
    assert "50 of 65 people (77.7%), and no gate says how many are too many." in found["why"][0]


@pytest.mark.parametrize(("share", "mark"), [(0.4, "look"), (0.6, "found")])
def test_the_limit_of_the_gate_decides(
    facts: SeriesFacts, attacked: Assessment, share: float, mark: str
) -> None:
    found = signing(replace(facts, gate=GATE), [_everything(attacked, determined=9, determined_share=share)])
    assert found["mark"] == mark and "the gate allows 50.0%" in found["why"][0]


def test_being_nearly_sure_is_for_the_signer_to_accept(facts: SeriesFacts, attacked: Assessment) -> None:
    assert signing(facts, [_everything(attacked, above_nine_tenths=0.2)])["mark"] == "look"


def test_a_broken_record_outweighs_all(facts: SeriesFacts, attacked: Assessment) -> None:
    found = signing(replace(facts, problems=["the chain is broken"]), [attacked])
    assert (found["title"], found["why"][0]) == ("Cannot be signed", "The chain is broken.")
    assert "republish verify weekly" in found["next"][0]


def test_a_method_for_one_table_is_none_for_a_series(tmp_path: Path, attacked: Assessment) -> None:
    alone = Mondrian(k=2)
    one = facts_of(make(tmp_path / "one", 1, alone))
    assert signing(one, [attacked])["mark"] == "holds"
    two = replace(one, releases=[*one.releases, *one.releases])
    found = signing(two, [attacked])
    assert "mondrian promises nothing over a series, and 2 releases are out." in found["why"]
    assert "`republish init NEW --schema one --publisher tau-safety`" in found["next"][0]


def test_the_report_has_the_title_of_the_series_and_who_answers_for_it(series: Series) -> None:
    said = {"title": "Visits & <wards>", "purpose": "research", "decided_by": "the board"}
    page = make_report(series, "html", said)
    assert "<h1>Visits &amp; &lt;wards&gt;</h1>" in page
    assert "<dt>Purpose</dt><dd>research</dd>" in page and "<dt>Decided by</dt><dd>the board</dd>" in page
    assert '<dt>Signed by</dt><dd><span class="fill">' in page
    assert page.index('id="verdict"') < page.index('id="who"') < page.index('id="glance"')
    assert "<h1>weekly</h1>" in make_report(series)


def test_digests_are_folded_away_but_for_the_head_of_the_ledger(series: Series) -> None:
    page = make_report(series)
    folded = re.search(r"<details>\s*<summary>BLAKE2b-256.*?</details>", page, re.DOTALL)
    assert folded is not None and series.records[0].digest in folded[0]
    assert series.ledger.head.digest in page.replace(folded[0], "")


def test_fields_are_kept_in_series_toml_and_edited_after_a_release(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 1)
    file = series.root / "series.toml"
    file.write_text(file.read_text() + '\n[report]\ntitle = "Weekly visits"\nrecipients = " clinics "\n')
    opened = Series.open(series.root)
    opened.require_policy()
    found = facts_of(opened)
    assert (found.title, found.signing["recipients"], found.problems) == ("Weekly visits", "clinics", [])
    assert "[report]" not in (make(tmp_path / "t", 0).root / "series.toml").read_text()


def test_fields_are_given_to_a_new_series(tmp_path: Path, series: Series) -> None:
    policy = series.policy
    made = Series.create(tmp_path / "new", policy.schema, policy.publisher, report={"purpose": "research"})
    assert Series.open(made.root).policy.report == {"purpose": "research"}


@pytest.mark.parametrize("said", [{"motto": "x"}, {"title": 5}])
def test_other_fields_are_refused(series: Series, said: dict[str, str]) -> None:
    with pytest.raises(
        PolicyError, match="may have title, purpose, recipients, legal_basis, decided_by, signed_by"
    ):
        make_report(series, "json", said)


def test_usefulness_is_said_in_words(facts: SeriesFacts) -> None:
    found = {
        "count_error": 0.05,
        "value_count_error": 0.2,
        "tables": [
            {"column": "age", "error": 0.3, "independent": 0.2},
            {"column": "zip", "error": 0.01, "independent": 0.1},
        ],
        "regression": {
            "response": "diagnosis", "columns": ["age", "zip"], "coefficients": 3, "error": 0.5, "held": 3,
            "certain": 2, "right": 2,
        },
    }  # fmt: skip
    assert facts.last is not None
    said = for_analysts(replace(facts, releases=[replace(facts.last, usefulness=found)]))
    assert said["sentences"] == [
        "An analyst who counts people by two quasi-identifiers, about 5% of them, is off by 5.0% of the true number in "
        "the median; one who asks for values of diagnosis too, by 20.0%.",
        "In a table of age by diagnosis 30.0% of the people stand in a wrong cell, which is the worst; in one of zip "
        "1.0%, the best.",
        "A regression of diagnosis on age, zip has 3 coefficients: the median one is off by 50.0% of its size in the "
        "raw view, intervals hold 3 of them, and the sign of 2 is certain, and right for 2.",
    ]
    assert [one["kept"] for one in said["tables"]] == ["lost: no better than independence", "mostly kept"]


def test_a_release_of_an_earlier_version_says_that_it_was_not_measured(facts: SeriesFacts) -> None:
    assert facts.last is not None
    said = for_analysts(replace(facts, releases=[replace(facts.last, usefulness=None)]))
    assert said == {"sentences": [NOT_MEASURED.format(series="weekly")], "tables": []}


def test_what_was_independent_before_is_not_lost() -> None:
    assert kept(0.02, 0.005).startswith("nothing to tell")
    assert kept(0.08, 0.1) == "partly kept"
