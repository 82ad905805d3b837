"""`verify`: a series, a table or two tables checked for what is promised of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from republish.cli.engine_options import EngineOptions, engine_of
from republish.cli.options import gathered, option
from republish.cli.output import Json, Quiet, counted, say, say_json, say_table
from republish.show.numbers import number
from republish.show.promises import extended_words, promised_of_groups

if TYPE_CHECKING:
    from republish.gate.verdict import Verdict
    from republish.parts import Engine
    from republish.series import Series
    from republish.verify.check import Verification
    from republish.verify.series import SeriesVerification


@dataclass(frozen=True)
class TableOptions:
    """What is asked of tables that any tool made."""

    schema: Path | None = option(None, "For tables: their schema.toml, or a series that has it.")
    require: str = option(
        "", 'For tables: what to check, "k=5,l=2,t=0.4"; for two tables: what to check of batches.'
    )
    people_require: str = option("", 'For two tables: what to check of groups of people, "k=5".')


@dataclass(frozen=True)
class GateOptions:
    """Whether the gate judges a series again, and by what."""

    gate: bool = option(False, "For a series: also make the attacks of its gate once more.", "--gate")
    truth: Path | None = option(
        None, "With --gate: folder of raw views, for linkage and presence in the gate."
    )

    def judge(self, series: Series) -> Verdict | None:
        """The verdict on the series as it is stored, where it is asked for."""
        from republish.cli.arguments import truth_views
        from republish.errors import PolicyError
        from republish.gate.run import judge_again

        if not self.gate and self.truth is not None:
            raise PolicyError("--truth is for the attacks of the gate; add --gate, or leave it out")
        if not self.gate:
            return None
        views = None if self.truth is None else truth_views(self.truth, len(series.records))
        return judge_again(series, views=views)


@gathered
def verify(
    target: Annotated[Path, typer.Argument(help="Folder of a series, or any table (CSV or Parquet).")],
    values: Annotated[
        Path | None,
        typer.Argument(
            help="Where there are two tables: the table of values (batch, value, count); the first is the table of "
            "people."
        ),
    ] = None,
    *,
    asked: TableOptions,
    gate: GateOptions,
    engine: EngineOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute every promise from what is stored; exit 1 if one does not hold."""
    from republish.errors import PolicyError

    if not target.exists():
        raise PolicyError(f"there is no series and no table at {target}")
    if target.is_dir():
        if values is not None:
            raise PolicyError(
                "a series is verified alone; two tables are two files: that of people, that of values"
            )
        if asked != TableOptions():
            raise PolicyError(
                "a series is checked for what its own policy promises; --schema, --require and --people-require are "
                "for tables"
            )
        with engine_of(engine) as where:
            _verify_series(target, gate, where, as_json)
    else:
        if engine != EngineOptions():
            raise PolicyError("--engine, --master and --part-rows are for a series; a table is verified here")
        _verify_tables(target, values, asked, as_json)


def _verify_series(folder: Path, gate: GateOptions, where: Engine | None, as_json: bool) -> None:
    from republish.series import Series
    from republish.verify.promises import CONSTANT_SIGNATURES

    opened = Series.open(folder).snapshot()
    with counted("verifying") as progress:
        found = opened.verify(progress, where)
        verdict = gate.judge(opened)
    passed = verdict is None or verdict.passed
    if as_json:
        say_json(found.as_dict() if verdict is None else found.as_dict() | {"gate": verdict.as_dict()})
    else:
        for problem in found.problems:
            say(f"problem: {problem}", wrong=True)
        for release, verification in found.releases.items():
            _say_broken(f"release {release}: ", verification)
        records = opened.records
        adopted = sum(entry.adopted for entry in records)
        own = len(records) > adopted
        promised = records[-1].payload["promises"] if own else opened.policy.promises
        if found.holds:
            say(
                f"verified: {len(found.releases)} releases, chain and files intact, {promised_of_groups(promised)}; "
                f"over the series: {'; '.join(promised['series']) or 'nothing promised'}"
            )
            if adopted:
                say(
                    f"          of releases 1 to {adopted}, made by another tool, nothing is promised but that they "
                    "are as they were adopted"
                )
            _say_extended(found)
            for promise in found.not_recomputable:
                say(
                    f"          but not {promise}: it was checked when each release was published and cannot be "
                    "recomputed, since raw quasi-identifiers are not stored"
                )
            # A group may be unchecked for several promises.
            skipped = {r: max((c.unchecked for c in v.checks), default=0) for r, v in found.releases.items()}
            if any(skipped.values()):
                affected = sum(map(bool, skipped.values()))
                say(
                    f"          but {number(sum(skipped.values()))} groups of {affected} releases could not be "
                    "checked: they hold people whose history was forgotten"
                )
            if any(promise.partition("=")[0] in CONSTANT_SIGNATURES for promise in promised["series"]):
                say(
                    f"          {number(found.new_lives)} changed values began a new episode, "
                    "in which the signature need not be the old one"
                )
        if verdict is not None:
            say(f"gate: {'passed' if passed else 'NOT passed'}, attacked once more as the series is stored")
            for note in verdict.notes:
                say(f"note: {note}")
            for breach in verdict.breaches:
                say(f"broken: {breach.sentence()}", wrong=True)
    raise typer.Exit(0 if found.holds and passed else 1)


def _say_extended(found: SeriesVerification) -> None:
    """How many people crossing cells concern, in all releases."""
    from republish.release.forms import KEPT_CUTS

    noted = {
        release: sum(check.noted for check in one.checks if check.promise.startswith(KEPT_CUTS))
        for release, one in found.releases.items()
    }
    if any(noted.values()):
        most = max(noted, key=lambda release: noted[release])
        say(f"          in release {most}, the most of all, {extended_words(noted[most])}")


def _verify_tables(table: Path, values: Path | None, asked: TableOptions, as_json: bool) -> None:
    """Check one table, or two, that any tool made."""
    from republish.errors import PolicyError
    from republish.requirements import parse_requirements
    from republish.schema import read_schema
    from republish.verify.table import verify_table
    from republish.verify.two_tables import verify_two_tables

    if values is None and asked.people_require:
        raise PolicyError("--people-require is for two tables: republish verify PEOPLE VALUES --schema FILE")
    if asked.schema is None or not (asked.require or asked.people_require):
        example = '--require "k=5,l=2"' if values is None else '--require "l=2" --people-require "k=5"'
        raise PolicyError(f"to check a table give --schema FILE and --require, for example {example}")
    schema, require = read_schema(asked.schema), parse_requirements(asked.require)
    if values is None:
        found = verify_table(table, schema, require)
    else:
        found = verify_two_tables(table, values, schema, require, parse_requirements(asked.people_require))
    if as_json:
        say_json(found.as_dict())
    else:
        size = (
            f"{number(found.rows)} rows, {number(found.groups)} groups, {number(found.suppressed)} suppressed"
        )
        if found.batches is not None:
            size = (
                f"{number(found.rows)} people, {number(found.groups)} groups, {number(found.batches)} batches"
            )
        say(size)
        rows = [(c.promise, c.holds, c.reached, c.groups, c.rows) for c in found.checks]
        say_table(("promise", "holds", "weakest group", "groups against it", "rows against it"), rows)
    raise typer.Exit(0 if found.holds else 1)


def _say_broken(where: str, verification: Verification) -> None:
    for check in verification.checks:
        if not check.holds:
            say(f"broken: {where}{check.sentence()}", wrong=True)
