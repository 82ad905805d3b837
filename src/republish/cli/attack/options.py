"""What `attack` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from republish.cli.options import option
from republish.errors import PolicyError

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.knowledge import Extracted, Knowledge

ALL = "all"
FULL = "full"


@dataclass(frozen=True)
class AttackOptions:
    """Which attacks, what the adversary is granted, what is read and what is shown."""

    names: str = option(
        ALL,
        "Names separated by commas (docs/attacks.md), or all that are possible with what is given.",
        "--attack",
    )
    compromised: float = option(0.0, "Share of people whose values the adversary knows already.")
    membership: str = option(
        "known", "known: she knows who is in which group; matched: she looks for groups that fit."
    )
    event_lists: bool = option(
        True,
        "Does the adversary know when each person came, changed, left, returned?",
        "--events/--no-events",
    )
    cascade: bool = option(
        True, "Does a person who is determined count as known from then on?", "--cascade/--no-cascade"
    )
    truth: Path | None = option(
        None,
        "Folder of raw views with the true values, instead of what the series remembers; some attacks need it.",
    )
    schema: Path | None = option(None, "For tables of another tool: their schema.toml; needs --truth.")
    knowledge: Path | None = option(
        None, "Beliefs: folder with knowledge.toml; else what the series' publisher thinks she knows."
    )
    posterior: str = option("exact", "Beliefs: additive, omega, sinkhorn, bp, bayes or exact.")
    looks: str = option(
        FULL,
        "Beliefs: how many last values she looks at, several separated by commas: 0 (each release alone), 1, 2, full.",
        "--steps",
    )
    certainty: float = option(
        1.0, "Beliefs: how sure she is of compromised people, drawn anew in each release."
    )
    cascading: str = option(
        "prior", "Beliefs: what she knows of single people enters the prior or the posterior."
    )
    over_time: bool = option(
        False, "Also show what she finds after each release, without the later ones.", "--over-time"
    )
    plot: Path | None = option(
        None,
        "Draw what is found after each release to this PNG file; of beliefs alone, without --over-time, "
        "gain and confidence by release.",
    )
    seed: int = option(0, "Seed of the draw of compromised people.")
    keep: bool = option(
        False,
        "Keep what is found after each release, as figures, beside the series: the report shows it.",
        "--keep",
    )

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

    def require_kept_alone(self) -> None:
        """Refuse to keep what is not of one adversary and of a series of this tool."""
        if self.schema is not None:
            raise PolicyError(
                "--keep is for a series, whose report shows it; leave it out for tables of another tool"
            )
        if len(self.steps) > 1:
            raise PolicyError("--keep is for one adversary at a time; give one number of --steps")

    def require_in_parts(self) -> None:
        """Refuse options that attacks in parts have no use for."""
        given = {"--truth": self.truth, "--schema": self.schema, "--over-time": self.over_time or None}
        given["--keep"] = self.keep or None
        useless = [name for name, value in (given | {"--plot": self.plot}).items() if value is not None]
        if useless:
            raise PolicyError(f"{', '.join(useless)} cannot be had with --engine; leave it out, or --engine")
