"""The story that `republish demo` tells: one hospital, published twice, attacked twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

from republish.attacks import Adversary, AttackResult, attack
from republish.cli.output import counted, say, say_table
from republish.datasets import hospital
from republish.errors import LedgerError
from republish.publishers import Mondrian, Publisher, TauSafety
from republish.requirements import LDiversity
from republish.schema import Schema, read_schema
from republish.series import Series
from republish.show.numbers import number

_FIRST_MONDAY = date(2026, 1, 5)
_MARK = ".republish-demo"
_M = 4


def run_demo(out: Path, weeks: int) -> None:
    """Publish the first weeks of a hospital with tau-safety and with plain l-diversity; verify and attack both."""
    _clear(out)
    say(f"A made-up hospital publishes its exam results every week (data and series in {out}/).")
    hospital(views=weeks, seed=7).write(out / "hospital")
    schema = read_schema(out / "hospital" / "schema.toml")
    views = sorted((out / "hospital" / "views").iterdir())
    with counted("publishing") as progress:
        safe = _publish(
            out / "series", schema, TauSafety(m=_M), views, lambda done: progress(done, 2 * weeks)
        )
        plain = _publish(
            out / "one-table",
            schema,
            Mondrian(k=_M, require=(LDiversity(_M),)),
            views,
            lambda done: progress(weeks + done, 2 * weeks),
        )
    for series in (safe, plain):
        _say_series(series)
    _say_attacks(safe, plain)
    say(
        f"try: republish history {out}/series | republish show {out}/series 1 | republish attack {out}/series"
    )


def _publish(
    root: Path, schema: Schema, publisher: Publisher, views: list[Path], tell: Callable[[int], None]
) -> Series:
    series = Series.create(root, schema, publisher, seed=7, one_table=True)
    for week, view in enumerate(views):
        series.publish(view, as_of=str(_FIRST_MONDAY + timedelta(weeks=week)))
        tell(week + 1)
    return series


def _say_series(series: Series) -> None:
    publisher, promises = series.policy.publisher, series.policy.promises
    say("")
    over = "; ".join(promises["series"]) or "nothing over the series: each release is protected alone"
    say(f"{publisher.name}: every group satisfies {promises['one_table']}; {over}")
    rows = []
    for entry in series.records:
        payload = entry.payload
        risk = payload["measures"]["prosecutor_risk"]
        counts = [payload[key] for key in ("rows", "groups", "suppressed", "counterfeits")]
        penalty = payload["measures"]["penalty"]
        rows.append((entry.release, payload["as_of"], *counts, penalty, risk["highest"], risk["average"]))
    names = ("#", "as of", "rows", "groups", "suppressed", "counterfeit", "penalty", "max risk", "mean risk")
    say_table(names, rows)
    say(f"files:  {series.root}/releases/0001 to {len(rows):04d} (table.csv, table.parquet, about.json)")
    found = series.verify()
    say(
        f"verify: {len(found.releases)} releases, {number(sum(v.rows for v in found.releases.values()))} rows, "
        f"chain and files intact, every promise {'holds' if found.holds else 'DOES NOT HOLD'}"
    )


def _say_attacks(safe: Series, plain: Series) -> None:
    say("")
    say("An adversary who keeps all releases, and knows who is in which group and when each value changed:")
    adversary = Adversary()
    kinds = ("intersection", "tau")
    results = [
        (series.policy.publisher.name, attack(series, adversary, kinds, m=_M)) for series in (plain, safe)
    ]
    rows = [_exposed(name, one) for name, found in results for one in found if isinstance(one, AttackResult)]
    say_table(
        ("published with", "attack", "people", "determined", "fewest candidates", "worst confidence"), rows
    )
    say("determined: only one value is left for a person; confidence: her probability of the true value")


def _exposed(name: str, result: AttackResult) -> tuple[str, str, int, int, int | None, float]:
    found = result.overall
    return name, result.name, found.people, found.determined, found.fewest_candidates, found.worst_confidence


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
