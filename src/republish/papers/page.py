"""Pages of reproduced papers: one HTML file that needs nothing else, and the same in Markdown."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from republish import __version__
from republish.papers.reasons import notes, reasons
from republish.papers.study import Outcome

if TYPE_CHECKING:
    from republish.papers.run import FigureResult, JudgedClaim, Reproduction

_LOOKS = {  # the class and the mark of a verdict
    Outcome.HOLDS: ("holds", "&#10003;"),
    Outcome.SHAPE: ("shape", "&#8776;"),
    Outcome.FAILS: ("fails", "&#10007;"),
    Outcome.OPEN: ("open", "?"),
    Outcome.NOT_RUN: ("none", "&#8211;"),
}
_EXPLAINED_SEED = 7
_BANDS = (
    "Where nothing else is said, in shape means: a limit missed by no more than half of it, an order that is true on "
    "average and not everywhere, a trend that is true from end to end with fewer than three quarters of the pairs in "
    "between. A claim cannot be judged where the run leaves too little to compare."
)

_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; height: auto; background: white; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
th { font-weight: 600; } td.verdict { white-space: nowrap; font-weight: 600; }
.holds { color: #00734d; } .shape { color: #996600; } .fails { color: #b84a00; }
.open { color: #5a5aa8; } .none { color: #777; }
@media (prefers-color-scheme: dark) { .holds { color: #35c99b; } .shape { color: #f0b840; } .fails { color: #ff8a4c; }
  .open { color: #a9a9f0; } }
table:has(+ .why) { margin-bottom: .5rem; } .why { margin: 0 0 .5rem; } .why + h3 { margin-top: 2rem; }
nav li { margin: .2rem 0; } small { color: #777; }
@media (max-width: 45rem) { td, th { display: block; border: 0; padding: .1rem 0; } tr { display: block;
  border-bottom: 1px solid var(--line); padding: .4rem 0; } thead { display: none; } }
"""


def html(made: Sequence[Reproduction]) -> str:
    """A page of one or several papers, pictures inside."""
    title = made[0].paper.title if len(made) == 1 else "The papers, reproduced"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_BANDS)}</p>",
    ]
    if len(made) > 1:
        links = "".join(
            f'<li><a href="#{one.paper.name}">{escape(one.paper.title)}</a>: {escape(_tally(one))}</li>'
            for one in made
        )
        parts.append(f"<nav><ul>{links}</ul></nav>")
    parts += [_section(one, named=len(made) > 1) for one in made]
    return "\n".join([*parts, "</body></html>", ""])


def markdown(made: Sequence[Reproduction]) -> str:
    """The verdicts of one or several papers as tables, without pictures."""
    many = ["# The papers, reproduced", ""] + [f"- {one.paper.title}: {_tally(one)}" for one in made] + [""]
    head = [*(many if len(made) > 1 else []), _BANDS, ""]
    return "\n".join([*head, *(line for one in made for line in _written(one))])


def _section(made: Reproduction, named: bool) -> str:
    paper = made.paper
    heading = f'<h2 id="{paper.name}">{escape(paper.title)}</h2>' if named else ""
    return "\n".join(
        [
            heading,
            f"<p>{escape(paper.citation)}</p><p>{escape(paper.data)}</p>",
            f"<p>{escape(_tally(made))}. <small>{escape(_origin(made))}</small></p>",
            *(_figure(made, shown) for shown in made.shown),
        ]
    )


def _figure(made: Reproduction, shown: FigureResult) -> str:
    figure = shown.figure
    picture = f"<p>Not run: {escape(figure.needs or 'nothing was computed for it')}.</p>"
    if shown.picture is not None:
        data = base64.b64encode(shown.picture.read_bytes()).decode()
        picture = (
            f'<img alt="{escape(figure.name)}: {escape(figure.title)}" src="data:image/png;base64,{data}">'
        )
    rows = "".join(_judged(one) for one in shown.judged)
    columns = ("The paper says", "Counts as holding if", "We found", "Verdict")
    head = "<thead><tr>" + "".join(f"<th>{column}</th>" for column in columns) + "</tr></thead>"
    said = "".join(
        f'<p class="why">{word}: {escape(text)}</p>'
        for word, text in (("Note", _note(made, shown)), ("Why", _why(made, shown)))
        if text
    )
    return (
        f"<h3>{escape(figure.name)}: {escape(figure.title)}</h3>{picture}"
        f"<table>{head}<tbody>{rows}</tbody></table>{said}"
    )


def _judged(one: JudgedClaim) -> str:
    verdict = one.finding.verdict
    look, mark = _LOOKS[verdict]
    return (
        f"<tr><td>{escape(one.claim.says)}</td><td>{escape(one.claim.tolerance)}</td>"
        f"<td>{escape(one.finding.number)}</td>"
        f'<td class="verdict {look}">{mark} {verdict.value}</td></tr>'
    )


def _why(made: Reproduction, shown: FigureResult) -> str:
    """What is to be said of a figure of which not all claims hold; the reasons were written of the full run."""
    short = any(one.finding.verdict not in (Outcome.HOLDS, Outcome.NOT_RUN) for one in shown.judged)
    said = reasons().get((made.paper.name, shown.figure.name), "") if short else ""
    other = made.scale.quick or made.scale.seed != _EXPLAINED_SEED
    return f"Of the full run: {said}" if said and other else said


def _note(made: Reproduction, shown: FigureResult) -> str:
    """What is to be said of a figure whatever was found."""
    return notes().get((made.paper.name, shown.figure.name), "")


def _tally(made: Reproduction) -> str:
    said = [f"{number} {verdict.value}" for verdict in Outcome if (number := made.count(verdict))]
    return f"{sum(len(shown.judged) for shown in made.shown)} claims: " + ", ".join(said)


def _origin(made: Reproduction) -> str:
    size = "quick run, smaller views" if made.scale.quick else "full run"
    return (
        f"{size}, seed {made.scale.seed}, republish {__version__}, {made.code}, "
        f"{made.date.isoformat()}, {made.seconds / 60:.0f} minutes of computing"
    )


def _written(made: Reproduction) -> list[str]:
    paper = made.paper
    head = (f"## {paper.title}", paper.citation, paper.data, f"{_tally(made)}. {_origin(made)}.")
    lines = [line for paragraph in head for line in (paragraph, "")]
    lines += [
        "| figure | the paper says | counts as holding if | we found | verdict |",
        "|---|---|---|---|---|",
    ]
    whys = []
    for shown in made.shown:
        for one in shown.judged:
            claim, finding = one.claim, one.finding
            cells = (shown.figure.name, claim.says, claim.tolerance, finding.number, finding.verdict.value)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        if note := _note(made, shown):
            whys.append(f"- **{shown.figure.name}**, note: {note}")
        if said := _why(made, shown):
            whys.append(f"- **{shown.figure.name}**: {said}")
    return [*lines, "", *whys, ""] if whys else [*lines, ""]


def reproduction_html(made: Reproduction) -> str:
    """The claims of a paper and what was found of each, for a notebook."""
    from republish.show.html import page, table

    rows = [
        (shown.figure.name, one.claim.says, one.finding.verdict.value, one.finding.number)
        for shown in made.shown
        for one in shown.judged
    ]
    return page([table(["figure", "claim", "verdict", "found"], rows, made.paper.name)])
