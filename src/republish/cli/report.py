"""`report`: what was released, what is promised and what adversaries find, for the person who signs."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.options import Folder, gathered, option
from republish.cli.output import Json, Quiet, say, say_json
from republish.cli.report_fields import ReportFieldOptions

if TYPE_CHECKING:
    from republish.series import Series

ALL = "all"
_ENDINGS = {".json": "json", ".md": "md", ".markdown": "md"}


@dataclass(frozen=True)
class ReportAttackOptions:
    """The attack that is made for the report; what is not given is as by default."""

    attack: str | None = option(
        None,
        "Attack the series now, and keep what is found: names by commas, see docs/attacks.md, or all. "
        "Without it, what was kept is used as far as it still holds.",
    )
    compromised: float | None = option(
        None, "Attack: share of people whose values the adversary knows already."
    )
    knowledge: Path | None = option(
        None, "Attack: folder with knowledge.toml; else what the publisher thinks she knows."
    )
    truth: Path | None = option(
        None,
        "Attack: folder of raw views, for knowledge with classes of its own and for attacks that need them: see "
        "docs/attacks.md.",
    )
    event_lists: bool | None = option(
        None,
        "Attack: does she know when each person came, changed, left, returned? By default she does.",
        "--events/--no-events",
    )
    seed: int | None = option(None, "Attack: draws the compromised people; 0 unless given.")

    def make(self, series: Series) -> None:
        """Make the attacks as they would have been after each release, and keep what was found."""
        from republish.attacks import AdversaryOptions
        from republish.cli.attack.keep import attack_and_keep
        from republish.knowledge import read_knowledge

        assert self.attack is not None
        known = None if self.knowledge is None else read_knowledge(self.knowledge, series.schema)
        membership = "matched" if self.attack.strip() == "matched" else "known"
        adversary = AdversaryOptions.among(vars(self) | {"membership": membership}).adversary(known)
        names = None if self.attack == ALL else [name.strip() for name in self.attack.split(",")]
        attack_and_keep(series, adversary, names, self.truth)

    def require_use(self) -> None:
        """Refuse what is given for an attack where none is asked for."""
        from republish.errors import PolicyError

        granted = {
            "--compromised": self.compromised,
            "--knowledge": self.knowledge,
            "--truth": self.truth,
            "--events": self.event_lists,
            "--seed": self.seed,
        }
        useless = [name for name, value in granted.items() if value is not None]
        if self.attack is None and useless:
            what = f"{useless[0]} is" if len(useless) == 1 else f"{', '.join(useless)} are"
            raise PolicyError(f"{what} for an attack; add --attack {ALL}, or leave that out")


@gathered
def report(
    series: Folder,
    *,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File to write; without it the report is printed.")
    ] = None,
    format: Annotated[  # noqa: A002 - what people call it
        str | None, typer.Option(help="html, json or md; by default what the file's ending says, else html.")
    ] = None,
    options: ReportAttackOptions,
    said: ReportFieldOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """The disclosure report of a series: one page that prints well, with what attacks found over all releases.

    Title, purpose and who answers for it are kept in series.toml, under report; options given here are for this
    report only.
    """
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
    options.require_use()
    opened = Series.open(series)
    if out is not None:
        _require_outside(out, opened)
    if options.attack is not None:
        options.make(opened)
    text = make_report(opened, chosen, said.given())
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
