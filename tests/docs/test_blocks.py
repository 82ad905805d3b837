"""Every block of Python and shell in README and docs runs, or says above it in a comment why it is not run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from docs.blocks import Block, blocks
from docs.given import Given, Prepared
from docs.pages import DOCS, ROOT
from docs.shell import CannotRunError, check_options, commands_of, lines_of, run

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    yield Prepared(tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize("page", [page.name for page in PAGES if blocks(page)])
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@mock.patch.dict(os.environ)
def test_the_blocks_of_a_page_run(
    page: str, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (path,) = [one for one in PAGES if one.name == page]
    given = Given(prepared, tmp_path, page)
    for block in blocks(path):
        try:
            _check(block) if block.reason else _run(block, given)
        except Exception as problem:
            raise AssertionError(f"{block.place}: {type(problem).__name__}: {problem}") from problem


def _run(block: Block, given: Given) -> None:
    if block.language == "python":
        given.names_for(block.text)
        given.files_for(block.text)
        exec(compile("\n" * (block.line - 1) + block.text, block.page, "exec"), given.names)
        return
    for words in lines_of(block.text):
        filled = ["republish", *given.series_for(words[1:])] if words[0] == "republish" else words
        run(filled, given.folder)


def _check(block: Block) -> None:
    """What is not run is Python all the same, or names commands and options that there are."""
    if block.language == "python":
        tree = ast.parse(block.text)
        ours = [
            node for node in tree.body if isinstance(node, ast.ImportFrom) and "republish" in str(node.module)
        ]
        exec(compile(ast.Module(ours, []), block.page, "exec"), {})
        return
    for words in commands_of(block.text):
        check_options(words)


class TestReadingPages:
    def page(self, tmp_path: Path, text: str) -> list[Block]:
        (tmp_path / "page.md").write_text(text, encoding="utf-8")
        return blocks(tmp_path / "page.md")

    def test_fences_and_indented_commands_are_blocks(self, tmp_path: Path) -> None:
        found = self.page(
            tmp_path, "a\n\n```python\nx\n```\n\n```toml\ny\n```\n\n    republish show S   shows it\n\nb"
        )
        assert [(block.line, block.language, block.text) for block in found] == [
            (4, "python", "x"),
            (11, "sh", "republish show S"),
        ]

    def test_a_comment_says_why_a_block_is_not_run(self, tmp_path: Path) -> None:
        found = self.page(tmp_path, "<!-- not run: slow -->\n```sh\nx\n```\n\n```sh\ny\n```\n")
        assert [block.reason for block in found] == ["slow", ""]

    def test_a_comment_makes_numbers_smaller(self, tmp_path: Path) -> None:
        (found,) = self.page(tmp_path, "<!-- run with: 5000 -> 50; x -> y -->\n```sh\nls x 5000\n```\n")
        assert found.text == "ls y 50"

    def test_what_a_prompt_prints_is_no_command(self, tmp_path: Path) -> None:
        (found,) = self.page(tmp_path, "a\n\n    $ republish status S\n    OK: S\n")
        assert found.text == "$ republish status S"

    def test_commands_of_cron_are_checked(self, tmp_path: Path) -> None:
        (found,) = self.page(tmp_path, "    PATH=/bin\n    0 9 * * *  republish status S\n")
        assert (found.text, found.reason) == ("republish status S", "cron runs it")


class TestShell:
    def test_comments_and_continued_lines_are_read(self) -> None:
        assert lines_of("republish show \\\n  S  # shows\nmake a && make b") == [
            ["republish", "show", "S"],
            ["make", "a"],
            ["make", "b"],
        ]

    @pytest.mark.parametrize("line", ["curl x", "republish show $S", "republish show S | sort"])
    def test_what_is_not_understood_is_said(self, line: str, tmp_path: Path) -> None:
        with pytest.raises(CannotRunError):
            run(lines_of(line)[0], tmp_path)

    @pytest.mark.parametrize(
        "line",
        ["make no-such", "pip install 'republish[no-such]'", "republish show --no-such", "republish no-such"],
    )
    def test_what_is_not_there_is_found(self, line: str, tmp_path: Path) -> None:
        with pytest.raises(AssertionError):
            run(lines_of(line)[0], tmp_path)

    def test_options_of_what_is_not_run_are_checked(self) -> None:
        check_options(["publish", "S", "V", "--dry-run"])
        with pytest.raises(AssertionError, match="options of publish"):
            check_options(["publish", "S", "V", "--dry"])
