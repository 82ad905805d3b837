"""The recommendation of `init`: questions in words of the situation, and publishers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from republish.cli.columns import choose
from republish.cli.options import option
from republish.cli.output import counted, say, say_table

if TYPE_CHECKING:
    from republish.release.forms import TwoTables
    from republish.schema import Schema
    from republish.tune.recommend import Recommendation
    from republish.tune.situation import Answers


@dataclass(frozen=True)
class ChoiceOptions:
    """The publisher, or what is said of the situation, from which it follows."""

    publisher: str | None = option(
        None,
        "The system that groups rows; see docs/publishers.md. Without it the one that suits the situation and --from.",
    )
    answer: list[str] | None = option(
        None, "NAME=yes or NAME=no: an answer to a question of docs/choose.md, such as again=no."
    )
    compare: bool = option(
        True,
        "Try other publishers beside the recommended one and show what each gives away.",
        "--compare/--no-compare",
    )

    def given(self, form: str | None) -> Answers:
        """The answers on the command line; `--form one-table` is one."""
        from republish.cli.arguments import assignments
        from republish.release.forms import ONE_TABLE
        from republish.tune.situation import Answers

        said = Answers.from_mapping(assignments(self.answer or [], "--answer"))
        return said.otherwise(Answers(one_table=True)) if form == ONE_TABLE else said

    def asked(self, given: Answers, views: Sequence[Path], schema: Schema) -> Answers:
        """The answers of whoever makes the series, those that views tell being the answers to Enter."""
        from republish.tune.recommend import situation_of
        from republish.tune.situation import QUESTIONS, Answers

        if schema.sensitive is None:
            return given
        assumed, figures = situation_of(views, schema)
        answers = given.given()
        for question in QUESTIONS:
            if question.name in answers:
                continue
            if question.name in figures:
                say(f"({figures[question.name]})")
            usual = "yes" if getattr(assumed, question.name) else "no"
            answers[question.name] = choose(question.text, ("yes", "no"), usual) == "yes"
            say(f"  {question.yes if answers[question.name] else question.no}")
            if question.name == "again" and not answers["again"]:
                break
        return Answers(**answers)


def advised(
    views: Sequence[Path], schema: Schema, form: TwoTables | None, answers: Answers, compared: bool
) -> Recommendation:
    """What is recommended for the views, refused where a promise could not be kept."""
    from republish.release.forms import TwoTables
    from republish.tune.recommend import recommend

    with counted("trying publishers on the views") as progress:
        advice = recommend(views, schema, progress, form or TwoTables(), answers, compared)
    advice.require_kept()
    return advice


def say_compared(advice: Recommendation) -> None:
    """What each publisher gives away at worst and to whom, and what it costs; the recommended one first."""
    from republish.show.numbers import percent
    from republish.tune.compare import ADVERSARIES

    lines = [line for line in advice.compared if not line.refused]
    if not lines:
        return
    shown = [name for name in ADVERSARIES if any(name in line.found for line in lines)]
    rows = [
        (
            "->" if line.recommended else "",
            line.title,
            percent(line.worst),
            *(percent(line.found.get(name)) for name in shown),
            percent(line.error),
            percent(line.faked),
            percent(line.late),
        )
        for line in lines
    ]
    say_table(
        ("", "publisher", "found out", *shown, "error", "faked", "late"), rows, "What each would give away"
    )
    for name in shown:
        say(f"  {name}: found out by an adversary who {ADVERSARIES[name]}")
    say(
        "  error: of counts, in the median; faked: rows that are nobody's; late: rows that wait or are left out"
    )
    for line in advice.compared:
        if line.refused:
            say(f"  {line.title} cannot publish these views: {line.refused}")
