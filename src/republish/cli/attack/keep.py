"""`attack --keep` and `report --attack`: what is found after each release, kept for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from republish.cli.output import counted

if TYPE_CHECKING:
    from republish.attacks import Adversary
    from republish.cli.attack.options import AttackOptions
    from republish.series import Series


def keep_attack(folder: Path, options: AttackOptions) -> None:
    """Make the attacks of a command as they would have been after each release, and keep the figures."""
    from republish.knowledge import read_knowledge
    from republish.series import Series

    options.require_kept_alone()
    series = Series.open(folder)
    known = None if options.knowledge is None else read_knowledge(options.knowledge, series.schema)
    adversary = replace(options.adversary(known), steps=options.steps[0])
    attack_and_keep(series, adversary, options.attacks, options.truth)


def attack_and_keep(
    series: Series, adversary: Adversary, names: Sequence[str] | None, truth: Path | None
) -> None:
    """Make attacks after each release, with the raw views of a folder where one is given, and keep the figures."""
    from republish.attacks.assessments import assess, keep
    from republish.cli.arguments import truth_views

    views = None if truth is None else truth_views(truth, len(series.records))
    with counted("attacking after each release") as progress:
        keep(series, assess(series, adversary, names, progress, views))
