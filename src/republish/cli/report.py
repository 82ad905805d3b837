"""`report`: what was released, what is promised and what adversaries find, for whoever signs."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.output import Json, counted, say, say_json

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.series import Series

ALL = "all"
_ENDINGS = {".json": "json", ".md": "md", ".markdown": "md"}


def report(
    series: Annotated[Path, typer.Argument(help="Folder of the series.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File to write; without it the report is printed.")
    ] = None,
    format: Annotated[  # noqa: A002 - what people call it
        str | None, typer.Option(help="html, json or md; by default what the file's ending says, else html.")
    ] = None,
    attack: Annotated[
        str | None,
        typer.Option(
            help="Attack the series now, and keep what is found: names by commas, see docs/attacks.md, or all. "
            "Without it, what was kept is used as far as it still holds."
        ),
    ] = None,
    compromised: Annotated[
        float | None, typer.Option(help="Attack: share of people whose values the adversary knows already.")
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(help="Attack: folder with knowledge.toml; else what the publisher thinks she knows."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Attack: folder of raw views, for knowledge with classes of its own and for matched."
        ),
    ] = None,
    events: Annotated[
        bool | None,
        typer.Option(
            "--events/--no-events",
            help="Attack: does she know when each person came, changed, left, returned? By default she does.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Attack: draws the compromised people; 0 unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The disclosure report of a series: one page that prints well, with what attacks found over all releases."""
    from republish.errors import PolicyError
    from republish.report import FORMATS, facts_of, make_report
    from republish.series import Series

    chosen = format or _ENDINGS.get(out.suffix.lower() if out else "", "html")
    if chosen not in FORMATS:
        raise PolicyError(f"--format must be {', '.join(FORMATS)}")
    if as_json and out is None:
        raise PolicyError(
            "--json says what was written; name a file with -o, or print a report with --format json"
        )
    granted = {
        "--compromised": compromised,
        "--knowledge": knowledge,
        "--truth": truth,
        "--events": events,
        "--seed": seed,
    }
    useless = [name for name, value in granted.items() if value is not None]
    if attack is None and useless:
        raise PolicyError(f"{', '.join(useless)} is for an attack; add --attack {ALL}, or leave it out")
    opened = Series.open(series)
    if out is not None:
        _require_outside(out, opened)
    if attack is not None:
        from republish.attacks import Adversary
        from republish.knowledge import read_knowledge

        known = None if knowledge is None else read_knowledge(knowledge, opened.schema)
        membership = "matched" if attack.strip() == "matched" else "known"
        adversary = Adversary(
            compromised or 0.0, events is not False, seed or 0, knowledge=known, membership=membership
        )
        _attack(opened, adversary, attack, truth)
    text = make_report(opened, chosen)
    if out is None:
        typer.echo(text)
        return
    _write(out, text)
    facts = facts_of(opened)
    attacked = facts.assessment is not None
    if as_json:
        say_json(
            {"report": str(out), "format": chosen, "releases": len(facts.releases), "attacked": attacked}
        )
        return
    say(f"{out}: {len(facts.releases)} releases, {len(text.encode()):,} bytes")
    if facts.releases and facts.sensitive and not attacked:
        say(
            f"no attack was made on the series as it is; add one: republish report {series} -o {out} --attack {ALL} "
            "--compromised 0.04"
        )


def _attack(series: Series, adversary: Adversary, names: str, truth: Path | None) -> None:
    """Make attacks as they would have been after each release, and keep what was found."""
    from republish.attacks.assessments import assess, keep
    from republish.cli.arguments import truth_views

    wanted = None if names == ALL else [name.strip() for name in names.split(",")]
    views = None if truth is None else truth_views(truth, len(series.records))
    with counted("attacking") as progress:
        keep(series, assess(series, adversary, wanted, progress, views))


def _require_outside(out: Path, series: Series) -> None:
    """Refuse a file among the releases: what lies there is what leaves the house."""
    from republish.errors import PolicyError

    if out.resolve().is_relative_to((series.root / "releases").resolve()):
        raise PolicyError(
            "the report says what adversaries find and is not for recipients, and releases/ holds what they get; "
            "write it elsewhere"
        )
    if out.is_dir():
        raise PolicyError(f"{out} is a folder; name a file, such as {out / 'report.html'}")


def _write(path: Path, text: str) -> None:
    """The file as a whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)  # noqa: PTH105 - says what happens to a file that is there
    finally:
        part.unlink(missing_ok=True)
