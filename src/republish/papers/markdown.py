"""Pages of reproduced papers in Markdown: an index, a page with figures for each, and all claims in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from republish.papers.page import BANDS, origin, remarks, tally
from republish.papers.reasons import BEFORE, OF, before, reason_of
from republish.papers.study import Outcome

if TYPE_CHECKING:
    from republish.papers.run import FigureResult, Reproduction

PAGE, CLAIMS = "README.md", "claims.md"
"""The files of a paper in Markdown, beside its pictures."""
WHOSE = {False: "the paper", True: "our own"}
"""Whose claims a row counts."""


def summary(made: Sequence[Reproduction]) -> str:
    """What came of every paper, before and now, in Markdown, with links to the page and the claims of each.

    What a paper claims, and what we claim of our own systems, are rows of their own.
    """
    verdicts = [verdict.value for verdict in Outcome]
    lines = ["# The papers, reproduced", "", BANDS, ""]
    lines += [
        f"| paper | claims of | run | claims | {' | '.join(verdicts)} | does not hold because of | |",
        "|---" * (len(verdicts) + 6) + "|",
    ]
    for one in made:
        size = "quick" if one.scale.quick else "full"
        links = f"[page]({one.paper.name}/{PAGE}), [all claims]({one.paper.name}/{CLAIMS})"
        for own in (False, True):
            earlier = before().get((one.paper.name, own))
            if earlier is not None:
                run = f"{BEFORE}{earlier.version}"
                lines.append(_counted((one.paper.title, WHOSE[own], run), earlier.counts, "", ""))
            counts = [one.count(verdict, own) for verdict in Outcome]
            if any(counts):
                run = f"{one.date}, {size}"
                lines.append(_counted((one.paper.title, WHOSE[own], run), counts, _because(one, own), links))
    return "\n".join([*lines, ""])


def markdown(made: Reproduction) -> str:
    """The page of a paper in Markdown: its figures, what does not hold or not quite, and why."""
    paper = made.paper
    head = (f"# {paper.title}", paper.citation, paper.data, f"{tally(made)}. {origin(made)}.")
    lines = [line for paragraph in head for line in (paragraph, "")]
    links = f"[All claims, what counts as holding, and our numbers]({CLAIMS}); [what the verdicts mean](../{PAGE})"
    if paper.counterpart:
        links += f"; [the same experiments on the other hospital series](../{paper.counterpart}/{PAGE})"
    lines += [f"{links}.", ""]
    said: dict[str, str] = {}
    titles = set[str]()
    for shown in made.shown:
        figure = shown.figure
        lines += [f"## {figure.name}" if figure.title in titles else f"## {figure.name}: {figure.title}", ""]
        titles.add(figure.title)
        if shown.picture is not None:
            lines += [f"![Plot]({shown.picture.name})", ""]
        lines += [*_verdicts(shown), ""]
        for text in remarks(made, shown):
            first = said.setdefault(text, figure.name)
            lines += [text if first == figure.name else f"As at {first}.", ""]
    return "\n".join(lines)


def claims(made: Reproduction) -> str:
    """Every claim of a paper in a table in Markdown: what counts as holding, our number, the verdict."""
    lines = [f"# {made.paper.title}: all claims", "", f"{tally(made)}. {origin(made)}.", ""]
    lines += [
        "| figure | the paper says, or we of our own | counts as holding if | we found | verdict |",
        "|---|---|---|---|---|",
    ]
    for shown in made.shown:
        for one in shown.judged:
            claim, finding = one.claim, one.finding
            cells = (shown.figure.name, claim.says, claim.tolerance, finding.number, finding.verdict.value)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])


def _counted(about: Sequence[str], counts: Sequence[int], because: str, links: str) -> str:
    return f"| {' | '.join(about)} | {sum(counts)} | {' | '.join(map(str, counts))} | {because} | {links} |"


def _because(made: Reproduction, own: bool) -> str:
    """How many claims do not hold for a reason of whom."""
    found = Counter(
        reason.of if (reason := reason_of(made.paper.name, shown.figure.name, own)) else ""
        for shown in made.shown
        for one in shown.judged
        if one.finding.verdict is Outcome.FAILS and one.claim.own is own
    )
    return ", ".join(f"{OF.get(of, 'not known')} {number}" for of, number in sorted(found.items()))


def _verdicts(shown: FigureResult) -> list[str]:
    """How many claims have which verdict, and those that do not hold."""
    found = Counter(one.finding.verdict for one in shown.judged)
    if found[Outcome.HOLDS] == len(shown.judged):
        return ["Its claim holds." if len(shown.judged) == 1 else f"All {len(shown.judged)} claims hold."]
    counts = ", ".join(f"{found[verdict]} {verdict.value}" for verdict in Outcome if found[verdict])
    others = [
        f"- *{one.finding.verdict.value}*: {one.claim.says}"
        for one in shown.judged
        if one.finding.verdict is Outcome.FAILS
    ]
    many = "claim" if len(shown.judged) == 1 else "claims"
    return [f"{len(shown.judged)} {many}: {counts}.", *([""] if others else []), *others]
