"""What `attack` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from republish.errors import PolicyError

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.knowledge import Extracted, Knowledge

ALL = "all"
FULL = "full"


@dataclass(frozen=True)
class AttackOptions:
    """Which attacks, what the adversary is granted, what is read and what is shown."""

    names: Annotated[
        str,
        typer.Option(
            "--attack",
            help="Names by commas, see docs/attacks.md; or all that can be made with what is given.",
        ),
    ] = ALL
    compromised: Annotated[
        float, typer.Option(help="Share of people whose values the adversary knows already.")
    ] = 0.0
    membership: Annotated[
        str,
        typer.Option(help="known: she knows who is in which group; matched: she looks for groups that fit."),
    ] = "known"
    event_lists: Annotated[
        bool,
        typer.Option(
            "--events/--no-events", help="Does she know when each person came, changed, left, returned?"
        ),
    ] = True
    cascade: Annotated[
        bool,
        typer.Option(
            "--cascade/--no-cascade", help="Does whoever is determined count as known from then on?"
        ),
    ] = True
    truth: Annotated[
        Path | None,
        typer.Option(
            help="Folder of raw views to score by, instead of what the series remembers; matched needs them."
        ),
    ] = None
    schema: Annotated[
        Path | None, typer.Option(help="For tables of another tool: their schema.toml; needs --truth.")
    ] = None
    knowledge: Annotated[
        Path | None,
        typer.Option(
            help="Beliefs: folder with knowledge.toml; else what the series' publisher thinks she knows."
        ),
    ] = None
    posterior: Annotated[
        str, typer.Option(help="Beliefs: additive, omega, sinkhorn, bp, bayes or exact.")
    ] = "exact"
    looks: Annotated[
        str,
        typer.Option(
            "--steps",
            help="Beliefs: last values she looks at, several by commas: 0 (each release alone), 1, 2, full.",
        ),
    ] = FULL
    certainty: Annotated[
        float,
        typer.Option(help="Beliefs: how sure she is of compromised people, drawn anew in each release."),
    ] = 1.0
    cascading: Annotated[
        str, typer.Option(help="Beliefs: what she knows of single people enters the prior or the posterior.")
    ] = "prior"
    over_time: Annotated[
        bool, typer.Option("--over-time", help="Also what she finds after each release, with no later one.")
    ] = False
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw what is found after each release to this PNG file; of beliefs alone, without --over-time, "
            "gain and confidence by release."
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Draws the compromised people.")] = 0

    @property
    def attacks(self) -> list[str] | None:
        """The attacks that were named, `None` for all that can be made."""
        return None if self.names == ALL else [name.strip() for name in self.names.split(",")]

    @property
    def steps(self) -> list[int | None]:
        """How many last values she looks at, `None` for all: one adversary each."""
        words = [word.strip() for word in self.looks.split(",")]
        if not all(word == FULL or (word.isascii() and word.isdigit()) for word in words):
            raise PolicyError(
                f"--steps is whole numbers and {FULL}, separated by commas, such as 0,1,2,{FULL}"
            )
        return [None if word == FULL else int(word) for word in words]

    def adversary(self, knowledge: Knowledge | Extracted | None) -> Adversary:
        """The adversary with this knowledge, whatever number of last values she looks at."""
        from republish.attacks import AdversaryOptions

        return AdversaryOptions.among(vars(self)).adversary(knowledge)

    def require_in_parts(self) -> None:
        """Refuse options that attacks in parts have no use for."""
        given = {"--truth": self.truth, "--schema": self.schema, "--over-time": self.over_time or None}
        useless = [name for name, value in (given | {"--plot": self.plot}).items() if value is not None]
        if useless:
            raise PolicyError(f"{', '.join(useless)} cannot be had with --engine; leave it out, or --engine")
