"""The site: every page has its place, every name of the package its entry, and no page is long."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import republish
from docs.pages import DOCS, ROOT, configuration, sections, site_part, words
from republish.attacks import Exposure, Summary
from republish.cli import app

SECTIONS = ["Start", "Choose", "Guides", "Understand", "Reference", "Evidence"]
MOST_WORDS = 1200

hooks = site_part("hooks")
check = site_part("check")


def test_the_sections_are_those_of_the_walk_through_the_site() -> None:
    assert list(sections()) == SECTIONS


def test_every_page_is_in_the_navigation_once() -> None:
    placed = Counter(page for pages in sections().values() for page in pages)
    there = {page.name for page in DOCS.glob("*.md")} | set(hooks.MADE)
    there |= {page.relative_to(DOCS).as_posix() for page in DOCS.glob("results/**/README.md")}
    assert set(placed) == there
    assert {page: count for page, count in placed.items() if count > 1} == {}


def test_what_pages_are_made_from_is_there() -> None:
    assert [source for source in (*hooks.MADE.values(), *hooks.HANDED) if not (ROOT / source).is_file()] == []


def test_nothing_is_fetched_from_elsewhere() -> None:
    settings = configuration()
    assert settings["theme"]["font"] is False
    assert "offline" in settings["plugins"]
    assert not [one for one in settings["extra"]["polyfills"] + settings["extra_css"] if "//" in one]


def test_the_reference_has_every_public_name_once() -> None:
    named = Counter(
        name
        for page in DOCS.glob("api-*.md")
        for name in re.findall(r"^::: republish\.(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert named == Counter(set(republish.__all__) - {"__version__"})


@pytest.mark.parametrize(
    ("page", "result"),
    [
        ("api-series.md", republish.Published),
        ("api-adversaries.md", republish.Measures),
        ("api-adversaries.md", Exposure),
    ],
)
def test_every_field_of_a_result_is_explained(page: str, result: type) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    told = text + inspect.getdoc(Summary)
    assert [field.name for field in fields(result) if f"`{field.name}`" not in told] == []


def test_the_command_line_has_every_option() -> None:
    parts = [
        part
        for page in DOCS.glob("cli-*.md")
        for part in page.read_text(encoding="utf-8").split("\n## republish ")[1:]
    ]
    told = dict(part.split("\n", 1) for part in parts)
    commands = typer.main.get_command(app).commands
    assert sorted(part.split("\n", 1)[0] for part in parts) == sorted(commands)
    missing = [
        f"{name} {option}"
        for name, command in commands.items()
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and f"{option} " not in told[name]
    ]
    assert missing == [], "run python docs/make_cli.py"


def test_the_list_of_names_leads_to_each() -> None:
    listed = (DOCS / "api.md").read_text(encoding="utf-8")
    wrong = [
        name
        for page in DOCS.glob("api-*.md")
        for name in re.findall(r"^::: (republish\.[\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        if f"({page.name}#{name})" not in listed
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "page",
    sorted(page for name, pages in sections().items() if name != "Evidence" for page in pages),
)
def test_a_page_is_short(page: str) -> None:
    path = DOCS / page
    if page in hooks.MADE:
        return
    assert words(path) <= MOST_WORDS, f"split {page}, or say less"


class TestMarkdownAsCodeHostsReadIt:
    def test_a_list_below_text_is_a_list(self) -> None:
        assert hooks._lists_apart("Three:\n- a\n- b\nmore") == "Three:\n\n- a\n- b\nmore"

    def test_code_stays_as_it_is(self) -> None:
        text = "```sh\nls\n- a\n```"
        assert hooks._lists_apart(text) == text

    def test_commands_become_blocks_of_shell(self) -> None:
        assert (
            hooks._commands_fenced("a\n\n    republish x\n    y\n\nb")
            == "a\n\n```sh\nrepublish x\ny\n```\n\nb"
        )
        assert hooks._commands_fenced("```\nrepublish x\n```\n") == "```sh\nrepublish x\n```\n"

    def test_a_file_of_the_repository_becomes_a_page(self) -> None:
        assert hooks._page_of("../CHANGELOG.md", "series.md") == "changelog.md"
        assert hooks._page_of("../README.md", "results/banga/README.md") == "../README.md"
        assert hooks._page_of("../../README.md", "results/README.md") == "../index.md"
        assert (
            hooks._moved("[a](docs/gate.md#b) [c](SECURITY.md)") == "[a](gate.md#b) [c](security-policy.md)"
        )

    def test_a_flow_chart_becomes_a_table(self) -> None:
        chart = '```mermaid\nflowchart TD\n    a["x"]\n    b["y.z"]\n    a --> b\n    b -.-> a\n```\n'
        assert hooks._tables_of_arrows(chart).splitlines()[2:] == ["| `x` | `y.z` |  |", "| `y.z` |  | `x` |"]

    def test_a_notebook_becomes_a_page_with_what_it_shows(self) -> None:
        cells = '{"cells": [{"cell_type": "markdown", "source": ["# T"]}, {"cell_type": "code", "source": ["1"]}]}'
        page = hooks._notebook(cells, "n.ipynb", ["a < b"])
        assert page.endswith('run.\n\n```python\n1\n```\n\n<div class="output"><pre>a &lt; b</pre></div>\n')

    def test_html_stays_one_block(self) -> None:
        assert hooks._output("<p>a</p>\n\n<p>b</p>") == '<div class="output"><p>a</p>\n<p>b</p></div>'


class TestCheck:
    def page(self, tmp_path: Path, body: str) -> list[str]:
        (tmp_path / "index.html").write_text(f'<h1 id="top">x</h1>{body}', encoding="utf-8")
        return check.problems(tmp_path.resolve())

    def test_links_that_lead_somewhere_are_fine(self, tmp_path: Path) -> None:
        assert (
            self.page(
                tmp_path, '<a href="#top"></a><a href="index.html#top"></a><a href="https://e.org"></a>'
            )
            == []
        )

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ('<a href="gone.html"></a>', "index.html: there is no gone.html"),
            ('<a href="#gone"></a>', "index.html: there is no anchor #gone"),
            ('<img src="gone.png">', "index.html: there is no gone.png"),
            ('<script src="https://e.org/x.js"></script>', "index.html: fetches https://e.org/x.js"),
            ('<link href="//e.org/x.css">', "index.html: fetches //e.org/x.css"),
        ],
    )
    def test_what_is_wrong_is_said(self, tmp_path: Path, body: str, said: str) -> None:
        assert self.page(tmp_path, body) == [said]

    def test_styles_fetch_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a.css").write_text("@import 'https://e.org/x.css';")
        assert self.page(tmp_path, "") == ["a.css: fetches from elsewhere"]
