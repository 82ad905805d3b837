"""The story that `republish demo` tells."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path

from republish.cli.output import counted, number, say, say_table
from republish.datasets import hospital
from republish.errors import LedgerError
from republish.publishers import Mondrian
from republish.requirements import LDiversity
from republish.schema import read_schema
from republish.series import Series, safer_publishers

_FIRST_MONDAY = date(2026, 1, 5)
_MARK = ".republish-demo"


def run_demo(out: Path, weeks: int) -> None:
    """Generate a hospital, publish its first weeks, verify the series, and show where everything is."""
    _clear(out)
    say(f"A made-up hospital publishes its exam results every week (data and series in {out}/).")
    hospital(views=weeks, seed=7).write(out / "hospital")
    schema = read_schema(out / "hospital" / "schema.toml")
    publisher = Mondrian(k=5, require=(LDiversity(3),))
    series = Series.create(out / "series", schema, publisher, seed=7, one_table=True)
    views = sorted((out / "hospital" / "views").iterdir())
    rows = []
    with counted("publishing") as progress:
        for week, view in enumerate(views):
            done = series.publish(view, as_of=str(_FIRST_MONDAY + timedelta(weeks=week)))
            risk = done.measures.prosecutor_risk
            rows.append(
                (
                    done.number,
                    done.as_of,
                    done.rows,
                    done.groups,
                    done.suppressed,
                    done.measures.penalty,
                    risk.highest,
                    risk.average,
                    f"series/releases/{done.number:04d}",
                )
            )
            progress(week + 1, len(views))
    names = (
        "release",
        "as of",
        "rows",
        "groups",
        "suppressed",
        "penalty",
        "highest risk",
        "mean risk",
        "files",
    )
    say_table(names, rows)
    say("penalty: how much of its domain the average published cell leaves open (0 exact, 1 nothing said)")
    say("risk: chance of picking the right row for somebody known to be in the release")
    found = series.verify()
    say(
        f"verify: {len(found.releases)} releases, {number(sum(v.rows for v in found.releases.values()))} rows; "
        f"every group satisfies {series.policy.promises['one_table']}; chain and files intact: "
        f"{'holds' if found.holds else 'DOES NOT HOLD'}"
    )
    say(f"note: {publisher.name} protects each release alone, not the series; {safer_publishers()}")
    say(
        f"try: republish history {series.root} | republish show {series.root} 1 | head {out}/{rows[0][-1]}/table.csv"
    )


def _clear(out: Path) -> None:
    """Remove what an earlier demo left; never anything else."""
    if out.exists() and any(out.iterdir()):
        if not (out / _MARK).exists():
            raise LedgerError(
                f"{out} holds something else than an earlier demo; choose another folder with --out"
            )
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARK).touch()
