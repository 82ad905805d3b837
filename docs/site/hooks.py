"""What mkdocs does beyond its configuration: pages made from other files, and Markdown as code hosts read it.

`make docs` calls these functions by their names. Tests read `MADE` without mkdocs being installed.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]

# Pages that are no files of docs/, and what each is made from.
MADE = {
    "tutorial.md": "docs/tutorial.ipynb",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security-policy.md": "SECURITY.md",
}
# What the cells of the notebook show: docs/make_tutorial.py.
OUTPUTS = ROOT / "docs/site/tutorial-outputs.json"
# Files of the repository that pages link to, and where the site has them.
HANDED = {"src/republish/cli/schemas/v1.json": "schemas/v1.json"}

_PAGES = {source: page for page, source in MADE.items()} | HANDED | {"README.md": "index.md"}
_LINK = re.compile(r"\]\(([^)\s#]+)")
_FOR_TESTS = re.compile(r"^ *<!-- (?:not run|run with): .*?-->\n", re.MULTILINE)
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})")
_ITEM = re.compile(r"(?:[-*+]|1\.) ")
_NO_TEXT = re.compile(r"\s|$|[-*+] |\d+\. |[|>#<]")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give headings the anchors that code hosts give them, so that one link works in both places."""
    from pymdownx.slugs import slugify

    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files."""
    from mkdocs.structure.files import File

    for page, source in MADE.items():
        path = ROOT / source
        text = path.read_text(encoding="utf-8")
        made = _notebook(text, path.name, _outputs()) if path.suffix == ".ipynb" else _moved(text)
        files.append(File.generated(config, page, content=made))
    for source, place in HANDED.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point to pages where the file of a repository is linked; leave out what only tests read."""
    text = _FOR_TESTS.sub("", markdown)
    text = _LINK.sub(lambda found: f"]({_page_of(found[1], page.file.src_uri)}", text)
    if page.file.src_uri.endswith("/claims.md"):
        page.meta.setdefault("search", {"exclude": True})  # long tables of numbers
    sections = {section.title for section in page.ancestors}
    if sections & {"Evidence", "Python", "Project"}:
        page.meta.setdefault("search", {"boost": 0.3})  # guides first
    return _lists_apart(_commands_fenced(_tables_of_arrows(text)))


def _page_of(link: str, page: str) -> str:
    """Where the site has a file of the repository that this page links to; the link itself if it has none."""
    folder = posixpath.dirname(page)
    place = _PAGES.get(posixpath.normpath(posixpath.join("docs", folder, link)))
    return link if place in (None, page) else posixpath.relpath(place, folder or ".")


def _moved(text: str) -> str:
    """A file of the root, with links as pages of docs/ have them."""

    def link(found: re.Match[str]) -> str:
        target = found[1].removeprefix("docs/")
        return f"]({_PAGES.get(found[1], target)}"

    return _LINK.sub(link, text)


def _notebook(text: str, name: str, outputs: list[str]) -> str:
    """The cells of a notebook as Markdown with what each cell of code shows; nothing is run."""
    parts, left = [], iter(outputs)
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(shown) for shown in [next(left)] if shown]
    title, _, rest = "\n\n".join(parts).partition("\n")
    said = (
        f"[The notebook]({name}) has the same cells, to be run. What they show here was made by such a run."
    )
    return f"{title}\n\n{said}\n{rest}\n"


def _outputs() -> list[str]:
    found: list[str] = json.loads(OUTPUTS.read_text(encoding="utf-8"))
    return found


def _output(shown: str) -> str:
    """What a cell shows, as one block of HTML: Markdown would begin another one at an empty line."""
    if not shown.startswith("<"):
        shown = f"<pre>{html.escape(shown)}</pre>"
    return '<div class="output">' + re.sub(r"\n\s*\n", "\n", shown) + "</div>"


def _tables_of_arrows(text: str) -> str:
    """Flow charts as tables: drawing them needs a script from the network."""

    def table(found: re.Match[str]) -> str:
        below: dict[str, list[str]] = {}
        above: dict[str, list[str]] = {}
        names = dict(re.findall(r'(\w+)\["([^"]+)"\]', found[1]))
        for start, arrow, end in re.findall(r"(\w+) (-->|-\.->) (\w+)", found[1]):
            (below if arrow == "-->" else above).setdefault(start, []).append(f"`{names[end]}`")
        lines = [
            f"| `{name}` | {', '.join(below.get(key, []))} | {', '.join(above.get(key, []))} |"
            for key, name in names.items()
        ]
        return "\n".join(["| room | imports | answered by |", "|---|---|---|", *lines]) + "\n"

    return re.sub(r"^```mermaid\n(.*?)^```\n", table, text, flags=re.DOTALL | re.MULTILINE)


def _commands_fenced(text: str) -> str:
    """Commands that are indented by four spaces, or fenced without a language, as a block of shell."""

    def fenced(found: re.Match[str]) -> str:
        lines = "".join(line[4:] for line in found[2].splitlines(keepends=True))
        return f"{found[1]}```sh\n{lines}```\n"

    text = re.sub(r"(\n\n)((?: {4}republish .*\n)(?: {4}.*\n)*)", fenced, text)
    return re.sub(r"^```\n(?=republish )", "```sh\n", text, flags=re.MULTILINE)


def _lists_apart(text: str) -> str:
    """A list that begins right below a line of text is a list on code hosts; here it needs an empty line."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[2].startswith(fence)):
            fence = "" if fence else mark[2]
        elif not fence and _ITEM.match(line) and lines and not _NO_TEXT.match(lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)
