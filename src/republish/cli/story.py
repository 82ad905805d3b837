"""The story that `republish demo` tells: one hospital, published three times, attacked by the strongest of a kind."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import date, timedelta
from multiprocessing import get_context
from pathlib import Path

from republish.attacks import Adversary, AttackResult, attack
from republish.attacks.history import history_of
from republish.attacks.linear import WHO, linear
from republish.attacks.run import attacked
from republish.cli.output import counted, say, say_table
from republish.datasets import hospital
from republish.errors import LedgerError, PolicyError
from republish.kernels import threads
from republish.metrics import measure
from republish.microdata import read_view
from republish.publishers import Mondrian, Publisher, TauSafety
from republish.release.forms import TwoTables
from republish.requirements import LDiversity
from republish.schema import read_schema
from republish.series import Series
from republish.show.numbers import number, percent
from republish.tune.recommend import Recommendation, recommend

_FIRST_MONDAY = date(2026, 1, 5)
_MARK = ".republish-demo"
_M = 4
_ROWS, _QUERIES = 800, 500
_KNOWN = (0.0, 0.04)
_NAMES = {
    "series": "value-blind, as recommended",
    "tau-safety": "tau-safety",
    "one-table": "each table alone",
}


def run_demo(out: Path, weeks: int) -> None:
    """Publish the first weeks of a hospital as recommended, with tau-safety and with plain l-diversity; attack all."""
    _clear(out)
    say(f"A made-up hospital publishes its exam results every week (data and series in {out}/).")
    say(f"- writing {weeks} weekly views of {_ROWS} people")
    hospital(views=weeks, rows=_ROWS, seed=7).write(out / "hospital")
    schema = read_schema(out / "hospital" / "schema.toml")
    views = sorted((out / "hospital" / "views").iterdir())
    say("- choosing what suits these views, as `republish init` does")
    with counted("choosing batches") as progress:
        advice = recommend(views, schema, progress, compared=False)  # the demo compares three by itself
    chosen: list[tuple[str, Publisher, TwoTables | None]] = [
        ("series", advice.publisher, advice.form),
        ("tau-safety", TauSafety(m=_M), None),
        ("one-table", Mondrian(k=_M, require=(LDiversity(_M),)), None),
    ]
    made = [
        Series.create(
            out / name, schema, publisher, seed=7, one_table=not publisher.protects_series, form=form
        )
        for name, publisher, form in chosen
    ]
    with ProcessPoolExecutor(min(len(made), threads()), get_context("spawn")) as pool:
        _tell_story(pool, made, views, advice)
    say(
        f"try: republish history {out}/series | republish show {out}/series 1 | republish attack {out}/series"
    )


def _tell_story(
    pool: ProcessPoolExecutor, made: Sequence[Series], views: Sequence[Path], advice: Recommendation
) -> None:
    """Publish, verify and attack the series side by side, and say what came of it."""
    published = {pool.submit(_publish, series.root, views): series for series in made}
    for done in as_completed(published):
        done.result()
        name = _NAMES[published[done].root.name]
        form = (
            "one table" if published[done].policy.form is None else "two tables, people and values by batch"
        )
        say(f"- published {len(views)} weeks: {name} ({form})")
    report = pool.submit(_report, made[0].root)
    say("")
    say("What `republish init` recommends for these views:")
    for sentence in (*advice.why, *advice.costs):
        say(f"  - {sentence}")
    for series in made:
        _say_series(series)
    _say_attacks(pool, made, views)
    say(report.result())


def _publish(root: Path, views: Sequence[Path]) -> None:
    series = Series.open(root)
    for week, view in enumerate(views):
        series.publish(view, as_of=str(_FIRST_MONDAY + timedelta(weeks=week)))
    series.ledger.close()


def _report(root: Path) -> str:
    """Where the report for the person who signs lies, or what it needs."""
    from republish.report import make_report

    page = root.parent / "report.html"
    try:
        page.write_text(make_report(Series.open(root)), encoding="utf-8")
    except PolicyError as problem:
        return f"no report: {problem}"
    return f"The disclosure report of {root}, for the person who signs: {page.resolve().as_uri()}"


def _say_series(series: Series) -> None:
    publisher, promises = series.policy.publisher, series.policy.promises
    say("")
    over = "; ".join(promises["series"]) or "nothing over the series: each release is protected alone"
    group = "group" if series.policy.form is None else "batch"
    say(f"{publisher.name}: every {group} satisfies {promises['one_table']}; {over}")
    say(f"files:  {series.root}/releases/0001 to {len(series.records):04d}")
    found = series.verify()
    say(
        f"verify: {len(found.releases)} releases, {number(sum(v.rows for v in found.releases.values()))} rows, "
        f"chain and files intact, every promise {'holds' if found.holds else 'DOES NOT HOLD'}"
    )


def _say_attacks(pool: ProcessPoolExecutor, made: Sequence[Series], views: Sequence[Path]) -> None:
    say("")
    say("An adversary who keeps all releases, and knows who is in which group and when each value changed.")
    say("Of how many people does she find out the value without doubt?")
    asked = [(series.root, known) for series in reversed(made) for known in _KNOWN]
    found = [pool.submit(_determined, root, known) for root, known in asked]
    with counted("attacking") as progress:
        for done, _ in enumerate(as_completed(found), 1):
            progress(done, len(found))
    rows = [
        (_NAMES[root.name], f"{known:.0%}", *one.result())
        for (root, known), one in zip(asked, found, strict=True)
    ]
    say_table(("published", "she knows", "intersection", "tau", "linear"), rows)
    say(
        "intersection compares groups, tau also links returns and changes, linear solves all releases together; "
        "only linear makes use of the people she knows, and counts the others"
    )
    say("What it costs (penalty and error of the last release; rows of all releases):")
    say_table(
        ("published", "penalty", "error of counts", "rows faked", "held", "waiting"),
        [(_NAMES[series.root.name], *_costs(series, views)) for series in reversed(made)],
    )
    say(
        "penalty: what cells leave open, 0 is exact; error: counts by quasi-identifiers and value, in the median"
    )
    say("held: counted as they were before they left or changed; waiting: not counted yet")


def _determined(root: Path, known: float) -> tuple[str, ...]:
    """How many people each attack determines, and of how many: only `linear` leaves out those she knows."""
    series, adversary = Series.open(root), Adversary(compromised=known)
    found = attack(series, adversary, ("intersection", "tau"), m=_M)
    history = attacked(history_of(series.snapshot()), "linear").knowing_forgotten()
    spared = adversary.known(history)
    solved = AttackResult.of("linear", linear(history, spared, budget=WHO), _M, spared)
    overall = [one.overall for one in (*found, solved) if isinstance(one, AttackResult)]
    return tuple(f"{number(one.determined)} of {number(one.people)}" for one in overall)


def _costs(series: Series, views: Sequence[Path]) -> tuple[float | str | None, ...]:
    records, last = [entry.payload for entry in series.records], len(views)
    view = read_view(views[-1], series.schema, series.scales(last).values)
    error = measure(series.release(last), view, queries=_QUERIES).value_query_error
    kept = series.policy.publisher.keeps_counts
    added, absent = (
        percent(sum(one[name] for one in records) / sum(one["rows"] for one in records))
        for name in ("counterfeits", "suppressed")
    )
    return (
        records[-1]["measures"]["penalty"],
        error.median if error is not None else None,
        percent(0) if kept else added,
        added if kept else None,
        absent if kept else None,
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
