"""No page speaks of commands and options: every text of the sources that may become a message is tried."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import republish
from republish.errors import REPORT_IT
from republish.web.pages.page import environment
from republish.web.plain_words import plain

ROOT = Path(republish.__file__).parent
NOT_OF_THE_DESK = ("cli", "papers", "datasets")
OF_COMMANDS = re.compile(r"`republish|(?<![\w-])--[a-z]")


def texts(file: Path) -> list[str]:
    """The texts of a file but for its docstrings, with an X for what is filled in."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    other = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    other |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    found = []
    for node in ast.walk(tree):
        if id(node) in other:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values))
    return found


def messages() -> list[tuple[str, str]]:
    """The texts that speak of commands or options, with their files."""
    files = [
        file for file in sorted(ROOT.rglob("*.py")) if file.relative_to(ROOT).parts[0] not in NOT_OF_THE_DESK
    ]
    return [
        (str(file.relative_to(ROOT)), text)
        for file in files
        if file.name != "plain_words.py"
        for text in texts(file)
        if OF_COMMANDS.search(text)
    ]


def test_there_are_such_messages() -> None:
    assert len(messages()) > 60
    assert ("errors.py", REPORT_IT) in messages()


@pytest.mark.parametrize(("file", "text"), messages())
def test_no_message_keeps_a_command_or_an_option(file: str, text: str) -> None:
    said = plain(text)
    assert not OF_COMMANDS.search(said), file
    assert said.count("`") % 2 == 0, file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("use `republish amend S --recode age=F.csv --reason WHY`", "use “amend” on the command line"),
        ("leave --groups out", "leave “groups” on the command line out"),
        (
            "if the source calls it otherwise, `--rename X=NEW`; if",
            "if the source calls it otherwise, “rename” on the command line; if",
        ),
        ("give a reason: --reason WHY", "give a reason: “reason” on the command line"),
        ("a well-known -- dash, 2026-01--02", "a well-known -- dash, 2026-01--02"),
    ],
)
def test_what_the_desk_cannot_do_is_said_to_be_of_the_command_line(text: str, said: str) -> None:
    assert plain(text) == said


PASSES = "a gate. With a reason, `republish amend 'my s' --gate \"max_determined=0.2\" --reason TEXT` would let it pass"
HOLD = "the view would pass; `republish publish --hold-newcomers` publishes it so, and they wait for a later release"
LARGER = "with k=4 the view would pass; `republish init 'my s-2' --schema 'my s' -p k=4` makes one. It does not count"
FIRST = "nothing is published yet, so begin anew with `republish init 'my s-2' --schema 'my s' -p k=4`"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            PASSES,
            "a gate. With a reason, the gate max_determined=0.2 would let it pass: set it on the page Change",
        ),
        (HOLD, "the view would pass; tick that newcomers wait, and they come with a later release"),
        (LARGER, "with k=4 the view would pass. It does not count"),
        (FIRST, "nothing is published yet, so begin anew"),
    ],
)
def test_what_would_pass_is_said_in_words_of_the_desk(text: str, said: str) -> None:
    assert plain(text) == said


def test_every_sentence_of_a_page_and_every_error_page_is_plain() -> None:
    made = environment()
    assert made.from_string("{{ text|sentence }}").render(text=REPORT_IT).endswith("is intact")
    assert "`republish" not in made.from_string("{{ text|sentence }}").render(text=REPORT_IT)
    searched_on_the_command_line = ["tune.html"]
    for template in set(made.list_templates(extensions=["html"])) - {*searched_on_the_command_line}:
        source = made.loader.get_source(made, template)[0]  # type: ignore[union-attr]
        assert not OF_COMMANDS.search(source), template
