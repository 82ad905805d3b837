"""Check a built site: every link and anchor leads somewhere, and no page fetches anything from elsewhere.

`python docs/site/check.py site` says what is wrong, one line each, and exits with 1 where something is.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "use": "href"}
_CSS = re.compile(r"(?:url\(|@import\s+)['\"]?(https?:)?//")


class _Document(HTMLParser):
    """The anchors of a page, what it links to and what it fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.fetches: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if (source := given.get(FETCHED.get(tag, ""))) and given.get("rel") != "canonical":
            self.fetches.append(source)


def _read(page: Path) -> _Document:
    document = _Document()
    document.feed(page.read_text(encoding="utf-8"))
    return document


def problems(site: Path) -> list[str]:
    """What is wrong with a site, one sentence each."""
    pages = {page: _read(page) for page in sorted(site.rglob("*.html")) if page.name != "404.html"}
    found = []
    for page, document in pages.items():
        name = page.relative_to(site)
        for link in document.links + document.fetches:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in document.fetches and parts.scheme != "data":
                    found.append(f"{name}: fetches {link}")
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append(f"{name}: there is no {link}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: there is no anchor {link}")
    found += [
        f"{style.relative_to(site)}: fetches from elsewhere"
        for style in sorted(site.rglob("*.css"))
        if _CSS.search(style.read_text(encoding="utf-8"))
    ]
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
