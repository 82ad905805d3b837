"""The report itself: what it says, and what it must never say."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from report.marked import MARK, SEED, make, view
from republish import Adversary, Category, Gate, LDiversity, Mondrian, Number, PolicyError, Schema, Series
from republish.attacks.assessments import assess, keep
from republish.publishing.maintenance import forget, withdraw
from republish.report import FORMATS, facts_of, make_report
from republish.report.facts import SeriesFacts
from republish.show.numbers import escaped

VOID = {"meta", "br", "img", "link", "hr"}
HEADINGS = (
    "At a glance", "What was released", "Columns", "Method", "Promises and their verification", "Usefulness",
    "Risk of a release taken alone", "Serial risk: all releases together", "Gate",
    "Under what this holds, and until when", "Releases and their digests",
)  # fmt: skip


class Page(HTMLParser):
    """Tags, ids and attributes of a page; an end without its beginning is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.pictures: list[str] = []
        self.inside: Counter[str] = Counter()
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if given.get("id"):
            self.ids[str(given["id"])] += 1
        if given.get("role") == "img":
            self.pictures.append(str(given["aria-label"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """Everything at once: a gate, attacks, a release withdrawn, somebody forgotten."""
    gate = Gate(max_determined=0.9, max_confidence=1.0, attacks=("intersection", "linear"), compromised=0.05)
    series = make(tmp_path_factory.mktemp("full") / "weekly", gate=gate)
    withdraw(series, 2, f"{MARK} reason")
    forget(series, pl.DataFrame({"patient": [f"{MARK}id20"]}))
    keep(series, assess(series, Adversary(compromised=0.1)))
    keep(series, assess(series, Adversary(), ["tau"]))
    return series


@pytest.fixture(scope="module")
def reports(full: Series) -> dict[str, str]:
    return {kind: make_report(full, kind) for kind in FORMATS}


@pytest.mark.parametrize("kind", FORMATS)
def test_no_cell_no_identifier_no_pseudonym_no_seed_no_secret(
    full: Series, reports: dict[str, str], kind: str
) -> None:
    text = reports[kind]
    assert len(text) > 5_000
    assert MARK not in text
    assert MARK.lower() not in text.lower()
    assert "71300" not in text
    assert "7,130," not in text
    assert str(SEED) not in text
    assert not any(name in text for name in full.pseudonyms(f"{MARK}id{i}" for i in range(80)))
    assert (full.root / "private" / "secret.key").read_text().strip() not in text
    assert str(full.root.parent) not in text


def test_the_page_stands_alone_and_is_well_formed(reports: dict[str, str]) -> None:
    text = reports["html"]
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\"' <]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert max(page.ids.values()) == 1
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", text))
    assert used <= set(page.ids)


def test_every_picture_says_what_it_shows(reports: dict[str, str]) -> None:
    page = Page(reports["html"])
    assert len(page.pictures) == page.tags["svg"] == 8
    assert all(len(said) > 40 for said in page.pictures)


@pytest.mark.parametrize("kind", ["html", "md"])
def test_all_sections_are_there(reports: dict[str, str], kind: str) -> None:
    text = reports[kind]
    said = Page(text).text if kind == "html" else text
    assert [heading for heading in HEADINGS if heading not in said] == []
    for word in ("Prosecutor", "Journalist", "Marketer", "tau-safety: a privacy model", "max_determined"):
        assert word in said.replace("\\", "")
    assert "The adversary links everybody" in said
    assert "1 person was forgotten" in said
    assert "withdrawn" in said


def test_thresholds_of_the_field_are_drawn(reports: dict[str, str]) -> None:
    drawn = re.findall(r"<text[^>]*>([^<]*)</text>", reports["html"])
    for label in ("0.09", "0.05", "5 rows", "11 rows", "20 rows", "9%", "5%", "allowed: 0.9"):
        assert label in drawn


def test_every_digest_is_listed(full: Series, reports: dict[str, str]) -> None:
    digests = [
        found["digest"]
        for record in full.records
        for name, found in record.payload["files"].items()
        if name.startswith("releases/")
    ]
    for kind in FORMATS:
        text = reports[kind]
        assert [one for one in digests if one not in text] == []
        assert full.ledger.head.digest in text


def test_two_adversaries_are_told_apart_and_the_strongest_comes_first(reports: dict[str, str]) -> None:
    document = json.loads(reports["json"])
    serial = document["serial"]
    assert list(serial[1]["after_release"]) == ["tau"]
    assert [one["adversary"]["compromised"] for one in serial] == [0.1, 0.0]
    assert "10.0% of the people" in serial[0]["sentence"]
    assert document["statements"][0]["title"] == "Strongest adversary measured"
    assert document["statements"][0]["text"] == serial[0]["strongest"]["text"]


def test_attacks_are_ranked_by_above_nine_tenths_then_who_is_determined_then_confidence(
    reports: dict[str, str],
) -> None:
    for one in json.loads(reports["json"])["serial"]:
        last = [after[-1] for after in one["after_release"].values()]
        figures = ("above_nine_tenths", "determined_share", "mean_confidence")
        found = [tuple(part[figure] for figure in figures) for part in last]
        assert found == sorted(found, reverse=True)
        assert one["strongest"]["attack"] == one["confidence"]["attack"] == next(iter(one["after_release"]))
        assert (one["strongest"]["mark"] == "found") == (last[0]["determined"] > 0)
        assert sum(part["people"] for part in one["confidence"]["people"]) == last[0]["people"]
        assert one["confidence"]["worst_after"][-1] == last[0]["worst_confidence"]


def test_an_attack_that_is_nearly_sure_of_many_comes_before_one_that_determines_some(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 1)
    made = assess(series, Adversary(), ["tau", "linear", "intersection"])
    some = made.found["tau"][-1]
    found = {
        "intersection": replace(
            some, determined=0, determined_share=0.0, above_nine_tenths=0.1, mean_confidence=0.9
        ),
        "tau": replace(some, determined=6, determined_share=0.1, above_nine_tenths=0.1, mean_confidence=0.3),
        "linear": replace(
            some, determined=0, determined_share=0.0, above_nine_tenths=0.6, mean_confidence=0.7
        ),
    }
    keep(series, replace(made, found={name: (one,) for name, one in found.items()}, unclear={}))
    (one,) = json.loads(make_report(series, "json"))["serial"]
    assert list(one["after_release"]) == ["linear", "tau", "intersection"]
    assert (one["strongest"]["attack"], one["strongest"]["mark"]) == ("linear", "look")


def test_the_same_adversary_twice_is_shown_once_with_the_newest_of_each_attack(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2)
    keep(series, assess(series, Adversary(), ["tau", "intersection"]))
    keep(series, assess(series, Adversary(), ["linear", "tau"]))
    (one,) = json.loads(make_report(series, "json"))["serial"]
    assert set(one["after_release"]) == {"tau", "intersection", "linear"}


def test_figures_of_the_formats_agree(reports: dict[str, str]) -> None:
    document = json.loads(reports["json"])
    last = document["releases"][-1]
    penalty = f"{last['measures']['penalty']:.3f}"
    assert f"| certainty penalty | {penalty} |" in reports["md"]
    assert f"<td>{penalty}</td>" in reports["html"]
    assert document["tool"] == last["tool"]
    assert {one["title"]: one["mark"] for one in document["statements"]}["Records"] == "holds"


def test_without_an_attack_it_says_so_and_how_to_make_one(tmp_path: Path) -> None:
    series = make(tmp_path / "weekly", 2)
    for kind in ("html", "md"):
        text = make_report(series, kind)
        assert "No attack was made on the series as it is now" in text
        assert "republish report weekly -o report.html --attack all --compromised 0.04" in text
        assert "The last one was made" not in text


def test_an_attack_that_no_longer_holds_is_named_with_what_it_found_then(tmp_path: Path) -> None:
    series = make(tmp_path / "weekly", 1)
    found = assess(series, Adversary(), ["tau"])
    keep(series, found)
    series.publish(view(1), as_of="2026-02-01")
    text = make_report(series, "md")
    made = f"{found.made_at[:10]} {found.made_at[11:16]}"
    since = f"The last one was made {made} UTC, after 1 release; the series has changed since: 1 release came after it."
    assert text.count(since) == 3  # in the verdict, at a glance, and where the risk is told
    assert f"{since} Found then, by tau:" in text and "determines nobody of 60 people" in text
    assert "No attack was made on the series as it is now" in text
    assert "after 1 release; the series has changed since" in text
    assert "### Adversary" not in text


@pytest.mark.parametrize("kind", FORMATS)
def test_a_series_without_releases(tmp_path: Path, kind: str) -> None:
    text = make_report(make(tmp_path / "s", 0), kind)
    assert "Nothing has been published" in text
    if kind == "html":
        assert Page(text).tags["svg"] == 0


def test_a_first_release_has_none_to_compare_with(tmp_path: Path) -> None:
    text = make_report(make(tmp_path / "s", 1))
    assert "there is none to compare with" in text
    assert Page(text).tags["svg"] == 3
    assert not re.search(r">0\.9\d<", text)  # no release lies between two


def test_without_a_sensitive_column_no_attack_can_be_made(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2, Mondrian(3), sensitive=False)
    for kind in ("html", "md"):
        text = make_report(series, kind)
        assert "no attack was made and none can be" in text.lower()
        assert "--attack all" not in text


def test_a_one_table_publisher_promises_nothing_over_the_series(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 2, Mondrian(3, (LDiversity(2),)))
    for kind in ("html", "md"):
        text = make_report(series, kind)
        assert "mondrian promises nothing over the series." in text
        assert "Over the series: nothing." in text
        assert "tau-safety" in text
    marks = {one["title"]: one["mark"] for one in json.loads(make_report(series, "json"))["statements"]}
    assert marks["Promises over the series"] == "lacking"


def test_a_release_that_leaves_everybody_out(tmp_path: Path) -> None:
    from republish.report import facts_of
    from republish.report.content import content_of

    series = make(tmp_path / "s", 1)
    facts = facts_of(series)
    empty = facts.releases[0].measures | {"levels": {"k": None}, "average_class_size": 0.0, "penalty": 1.0}
    object.__setattr__(facts.releases[0], "measures", empty)
    content = content_of(facts, "2026-01-01T00:00:00+00:00")
    from republish.report.pictures import risk_picture

    assert "at least 0" in risk_picture(facts.releases).text
    assert content["usefulness"]["rows"][0][1] == 1.0


def test_a_changed_policy_is_shouted(tmp_path: Path) -> None:
    series = make(tmp_path / "s", 1)
    file = series.root / "series.toml"
    file.write_text(file.read_text().replace("m = 2", "m = 3"))
    for kind in ("html", "md"):
        assert "The records do not hold:" in make_report(Series.open(series.root), kind)


def test_names_of_columns_are_no_markup(tmp_path: Path) -> None:
    schema = Schema("id", [Number("<b>a|b_c*"), Category("`x`")], "d&d")
    series = Series.create(tmp_path / "<i>s", schema, Mondrian(2), seed=1, one_table=True)
    series.publish(
        pl.DataFrame(
            {"id": list("pqrs"), "<b>a|b_c*": [1, 2, 3, 4], "`x`": list("uuvv"), "d&d": list("abab")}
        )
    )
    text = make_report(series)
    assert "<b>" not in text
    assert "<i>" not in text
    assert "&lt;b&gt;a|b_c*" in text
    Page(text)
    assert r"\<b\>a\|b\_c\*" in make_report(series, "md")


def test_another_format_is_refused(full: Series) -> None:
    with pytest.raises(PolicyError, match="html, json or md"):
        make_report(full, "pdf")


def test_what_is_missing_is_named_with_the_command(full: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PolicyError, match=re.escape("pip install 'republish[report]'")):
        make_report(full)
    assert make_report(full, "md")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(PolicyError, match=re.escape("pip install 'republish[report]'")):
        make_report(full, "md")
    assert make_report(full, "json")


@pytest.mark.parametrize(
    "shown, value, text",
    [
        ("figure", None, "-"),
        ("figure", 3.0, "3"),
        ("figure", 0.0, "0.000"),
        ("figure", 0.0001, "< 0.001"),
        ("figure", -0.0001, "> -0.001"),
        ("figure", 12345.6, "12,346"),
        ("percent", 0.0, "0.0%"),
        ("percent", 0.0002, "< 0.1%"),
        ("percent", 1.0, "100.0%"),
        ("moment", "2026-01-02T00:00:00+00:00", "2026-01-02"),
        ("moment", "2026-01-02T03:04:05+02:00", "2026-01-02 01:04"),
        ("setting", True, "yes"),
        ("setting", 0.5, "0.5"),
        ("code", "a < b `c` d", "a &lt; b <code>c</code> d"),
    ],
)
def test_numbers_and_days(shown: str, value: object, text: str) -> None:
    from republish.show.numbers import FILTERS

    write: Callable[..., object] = FILTERS[shown]
    assert str(write(value)) == text


def test_every_publisher_parameter_attack_limit_and_role_has_its_words() -> None:
    from republish.attacks import KINDS
    from republish.gate.limits import LIMITS
    from republish.publishers import PUBLISHERS
    from republish.report import words

    assert set(words.METHODS) == set(words.ASSUMPTIONS) == set(PUBLISHERS)
    parameters = {name for publisher in PUBLISHERS.values() for name in publisher.parameters()}
    assert parameters <= set(words.PARAMETERS)
    assert set(words.ATTACKS) == set(KINDS)
    assert set(words.LIMITS) == set(LIMITS)


HOSTILE = [
    "a|b",
    "<script>alert(1)</script>",
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "`code` and ``more``",
    "two\n\n# lines\n- and more",
    "https://evil.example/a",
    "\\|",
    "*_~$&lt;",
]


def _named(facts: SeriesFacts, folder: str, ending: str) -> SeriesFacts:
    """The same facts of a series and of columns with other names; older ledgers may hold any."""
    columns = [one | {"name": one["name"] + ending} for one in facts.columns]
    releases = [
        replace(
            one,
            measures=one.measures
            | {"penalty_by_column": {n + ending: p for n, p in one.measures["penalty_by_column"].items()}},
            checks=[check | {"meaning": check["meaning"] + ending} for check in one.checks],
        )
        for one in facts.releases
    ]
    problems = [f"`republish verify` {ending}"]
    return replace(facts, name=folder, columns=columns, releases=releases, problems=problems)


def test_hostile_names_stay_text_in_markdown(full: Series, monkeypatch: pytest.MonkeyPatch) -> None:
    def blocks(folder: str, ending: str) -> list[Token]:
        monkeypatch.setattr(
            "republish.report.make.facts_of", lambda one: _named(facts_of(one), folder, ending)
        )
        return MarkdownIt("commonmark", {"html": True}).enable("table").parse(make_report(full, "md"))

    plain = [block.type for block in blocks("plain", "plain")]
    for name in HOSTILE:
        found = blocks(name, name)
        assert [block.type for block in found] == plain
        inline = {child.type for block in found for child in block.children or ()}
        assert not inline & {"html_inline", "link_open", "image", "hardbreak"}
        texts = ["".join(part.content for part in block.children or ()) for block in found]
        assert f"age{' '.join(name.split())}" in texts


def test_an_address_in_a_name_becomes_no_link_in_markdown() -> None:
    assert escaped("https://a.b www.a.b c@a.b") == r"https:\//a.b www\.a.b c\@a.b"
