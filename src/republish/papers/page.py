"""Pages of reproduced papers in one HTML file that needs nothing else; `markdown` has those in Markdown."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from republish import __version__
from republish.papers.reasons import notes, reason_of
from republish.papers.study import Outcome

if TYPE_CHECKING:
    from republish.papers.run import FigureResult, JudgedClaim, Reproduction

_LOOKS = {  # the class and the mark of a verdict
    Outcome.HOLDS: ("holds", "&#10003;"),
    Outcome.SHAPE: ("shape", "&#8776;"),
    Outcome.FAILS: ("fails", "&#10007;"),
    Outcome.OTHER: ("other", "&#8800;"),
    Outcome.OPEN: ("open", "?"),
    Outcome.NOT_RUN: ("none", "&#8211;"),
}
_EXPLAINED_SEED = 7
_NOT_ASKED = {Outcome.HOLDS, Outcome.NOT_RUN, Outcome.OTHER}
BANDS = (
    "Where nothing else is said, in shape means: a limit missed by no more than half of it, an order that is true on "
    "average and not everywhere, a trend that is true from end to end with fewer than three quarters of the pairs in "
    "between. A claim has another baseline where it fails only because our version of the rival is better than the "
    "paper's. It cannot be judged where the run leaves too little to compare."
)

_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
img { max-width: 100%; height: auto; background: white; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid var(--line); }
th { font-weight: 600; } td.verdict { white-space: nowrap; font-weight: 600; }
.holds { color: #00734d; } .shape { color: #996600; } .fails { color: #b84a00; }
.open, .other { color: #5a5aa8; } .none { color: #777; }
@media (prefers-color-scheme: dark) { .holds { color: #35c99b; } .shape { color: #f0b840; } .fails { color: #ff8a4c; }
  .open, .other { color: #a9a9f0; } }
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
        f"<p>{escape(BANDS)}</p>",
    ]
    if len(made) > 1:
        links = "".join(
            f'<li><a href="#{one.paper.name}">{escape(one.paper.title)}</a>: {escape(tally(one))}</li>'
            for one in made
        )
        parts.append(f"<nav><ul>{links}</ul></nav>")
    parts += [_section(one, named=len(made) > 1) for one in made]
    return "\n".join([*parts, "</body></html>", ""])


def _section(made: Reproduction, named: bool) -> str:
    paper = made.paper
    heading = f'<h2 id="{paper.name}">{escape(paper.title)}</h2>' if named else ""
    return "\n".join(
        [
            heading,
            f"<p>{escape(paper.citation)}</p><p>{escape(paper.data)}</p>",
            f"<p>{escape(tally(made))}. <small>{escape(origin(made))}</small></p>",
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
    said = "".join(f'<p class="why">{escape(text)}</p>' for text in remarks(made, shown))
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


def remarks(made: Reproduction, shown: FigureResult) -> list[str]:
    """What is to be said of a figure: whatever was found, and where not all claims hold (of the full run)."""
    place = made.paper.name, shown.figure.name
    said = [f"Note: {note}"] if (note := notes().get(place)) else []
    said += [
        f"Other baseline: {one.claim.baseline}"
        for one in shown.judged
        if one.finding.verdict is Outcome.OTHER
    ]
    other = made.scale.quick or made.scale.seed != _EXPLAINED_SEED
    why = "Why, of the full run" if other else "Why"
    asked = [one for one in shown.judged if one.finding.verdict not in _NOT_ASKED]
    found = (reason_of(*place, one.claim.own) for one in asked)
    return list(dict.fromkeys([*said, *(f"{why} {reason}" for reason in found if reason)]))


def tally(made: Reproduction) -> str:
    """How many claims were judged, and how."""
    return "; ".join(_counted(made, own) for own in (False, True) if _claims(made, own))


def _claims(made: Reproduction, own: bool) -> int:
    return sum(made.count(verdict, own) for verdict in Outcome)


def _counted(made: Reproduction, own: bool) -> str:
    said = [f"{number} {verdict.value}" for verdict in Outcome if (number := made.count(verdict, own))]
    number = _claims(made, own)
    return f"{number} {'of our own' if own else 'claim' if number == 1 else 'claims'}: " + ", ".join(said)


def origin(made: Reproduction) -> str:
    """Which run the findings are of."""
    size = "quick run, smaller views" if made.scale.quick else "full run"
    return (
        f"{size}, seed {made.scale.seed}, republish {__version__}, {made.code}, "
        f"{made.date.isoformat()}, {made.seconds / 60:.0f} minutes of computing"
    )


def reproduction_html(made: Reproduction) -> str:
    """The claims of a paper and what was found of each, for a notebook."""
    from republish.show.html import page, table

    rows = [
        (shown.figure.name, one.claim.says, one.finding.verdict.value, one.finding.number)
        for shown in made.shown
        for one in shown.judged
    ]
    return page([table(["figure", "claim", "verdict", "found"], rows, made.paper.name)])
