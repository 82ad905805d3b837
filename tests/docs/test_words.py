"""What users read uses the field's words: the adversary, the custodian, the analyst and the person are the actors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "republish"
INSTEAD = {
    r"whoever": "an adversary who, the person who, people who",
    r"attackers?": "adversary",
    r"outsiders?": "adversary; people outside where recipients are meant",
    r"data officers?": "custodian, or the person who signs",
    r"somebody": "the adversary, an analyst, a person",
    r"lives": "episodes; holds or is stored where a file is meant",
    r"new life": "new episode",
    r"leaves? the house": "is handed out, is published",
    r"who is with whom": "who is in which group (or batch) with whom",
    r"(told|tells?) apart": "distinguished",
    r"laid open": "disclosed",
    r"nothing betters": "nothing improves",
    r"dear": "costly",
}
"""What is not written, as whole words in any case, and what is written instead."""
PAGES = [ROOT / name for name in ("README.md", "SECURITY.md")]
PAGES += [page for kind in ("*.md", "*.ipynb") for page in sorted((ROOT / "docs").glob(kind))]
TEMPLATES = [
    page
    for room in ("web", "report")
    for page in sorted((SOURCE / room / "templates").rglob("*"))
    if page.is_file()
]
MODULES = [
    *(
        module
        for room in ("cli", "report", "show", "web")
        for module in sorted((SOURCE / room).rglob("*.py"))
    ),
    *(SOURCE / "publishing" / name for name in ("about.py", "limits.py", "maintenance.py", "correction.py")),
    *(SOURCE / "gate" / name for name in ("amendment.py", "limits.py", "verdict.py")),
    *sorted((SOURCE / "tune").glob("*.py")),
    *sorted((SOURCE / "verify").glob("*.py")),
    SOURCE / "metrics" / "summary.py",
]


def found_in(text: str) -> list[str]:
    """Every word that is not written, and what to write instead."""
    return [
        f"{hit.group()!r}: write {instead}"
        for word, instead in INSTEAD.items()
        for hit in re.finditer(rf"\b{word}\b", text, re.IGNORECASE)
    ]


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of the strings of a module that are no docstrings."""
    tree = ast.parse(source)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


@pytest.mark.parametrize("page", [*PAGES, *TEMPLATES], ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    wrong = [f"line {number}: {what}" for number, line in enumerate(lines, 1) for what in found_in(line)]
    assert not wrong, "\n".join([f"{page.relative_to(ROOT)} uses words that readers stumble over:", *wrong])


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(SOURCE)))
def test_sentences_use_the_words_of_the_field(module: Path) -> None:
    said = literals(module.read_text(encoding="utf-8"))
    wrong = [f"line {number}: {what}" for number, text in said for what in found_in(text)]
    assert not wrong, "\n".join([f"{module.relative_to(ROOT)} uses words that readers stumble over:", *wrong])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Whoever keeps two releases", 1),
        ("no attacker, no outsider", 2),
        ("the counts of 5 lives; a pair told apart", 2),
        ("`max_told_apart` and `new_lives` are keys", 0),
        ("the adversary distinguishes a pair", 0),
    ],
)
def test_whole_words_are_found_and_keys_are_not(text: str, words: int) -> None:
    assert len(found_in(text)) == words
