"""`history`, `show`, `verify` and `measure`: reading commands; none of them writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.engine_options import EngineOptions, engine_of
from republish.cli.options import Folder, gathered
from republish.cli.output import Json, counted, say, say_json, say_table
from republish.show.numbers import day, number

if TYPE_CHECKING:
    from republish.parts import Engine
    from republish.series import Series

_HIDDEN = {
    "files",
    "staging",
    "scales",
    "membership",
    "memory",
    "memory_rows",
    "erased",
    "counts",
    "compromised",
}
_CONSTANT_SIGNATURES = ("m-invariance", "weak-m-invariance", "tau-safety")


def history(series: Folder, as_json: Json = False) -> None:
    """All releases of a series, one line each, and whatever else happened to it."""
    from republish.series import Series

    opened = Series.open(series).snapshot()
    withdrawn = opened.withdrawn()
    lines = [_line(entry, entry.release in withdrawn) for entry in opened.records]
    others = [
        {
            "entry": entry.seq,
            "kind": entry.kind,
            "recorded_at": entry.recorded_at,
            "release": entry.release,
            "digest": entry.digest,
        }
        for entry in opened.ledger.entries()
        if entry.kind not in ("release", "adopt")
    ]
    if as_json:
        head = opened.ledger.head.digest
        say_json({"series": str(series), "releases": lines, "other_entries": others, "head": head})
        return
    if lines:
        say_table(list(_COLUMNS.values()), [[_shown(line, key) for key in _COLUMNS] for line in lines])
    else:
        say(f"nothing published yet; next: republish publish {series} VIEW.csv")
    say_table(
        ("entry", "what", "when", "release"), [tuple(other.values())[:4] for other in others], "Other entries"
    )


_COLUMNS = {
    "release": "#",
    "as_of": "as of",
    "rows": "rows",
    "groups": "groups",
    "suppressed": "suppressed",
    "counterfeits": "counterfeit",
    "new": "new",
    "returned": "back",
    "left": "left",
    "penalty": "penalty",
    "highest_risk": "risk",
    "gate": "gate",
    "status": "",
}


def _shown(line: dict[str, Any], key: str) -> Any:
    """A figure of the history; where nothing was suppressed or added, the column stays empty and is left out."""
    return line[key] or None if key in ("suppressed", "counterfeits", "status") else line[key]


def _line(entry: Any, withdrawn: bool) -> dict[str, Any]:
    payload = entry.payload
    return {
        "release": entry.release,
        "as_of": day(payload["as_of"]),
        **{key: payload[key] for key in ("rows", "groups", "suppressed", "counterfeits")},
        **{key: payload["arrivals"][key] for key in ("new", "returned", "left")},
        "penalty": payload["measures"]["penalty"],
        "highest_risk": payload["measures"]["prosecutor_risk"]["highest"],
        "gate": "passed" if payload.get("gate", {}).get("passed") else None,
        "status": "withdrawn" if withdrawn else "",
        "digest": entry.digest,
    }


def show(
    series: Folder,
    release: Annotated[
        int | None, typer.Argument(help="Number of a release; the series itself if not given.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a picture of the groups over two quasi-identifiers (needs the extra plots)."
        ),
    ] = None,
    axes: Annotated[
        str | None, typer.Option(help="The two quasi-identifiers of the picture: age,weight")
    ] = None,
    as_json: Json = False,
) -> None:
    """The policy of a series, or one release with its measures."""
    from republish.series import Series

    opened = Series.open(series).snapshot()
    if release is None:
        _show_series(opened, as_json)
        return
    entry = opened.record(release)
    opened.require_intact(release)
    if plot is not None:
        from republish.show.plots import plot_groups

        plot_groups(opened.release(release).people, plot, axes)
    document = {key: value for key, value in entry.payload.items() if key not in _HIDDEN}
    document["folder"] = str(opened.ledger.folder(release))
    document["withdrawn"] = release in opened.withdrawn()
    if as_json:
        say_json(document)
        return
    say(f"release {release} as of {document['as_of']}" + (" (withdrawn)" if document["withdrawn"] else ""))
    arrivals = document["arrivals"]
    order = ("new", "returned", "left", "changed_value", "changed_quasi_identifiers")
    say_table(("people", "number"), [(key.replace("_", " "), arrivals[key]) for key in order])
    _say_measures(document["measures"])
    checks = document["verification"]["checks"]
    say_table(
        ("promise", "holds", "weakest group"), [(c["promise"], c["holds"], c["reached"]) for c in checks]
    )
    if "gate" in document:
        _say_passed(document["gate"])
    say(f"files: {document['folder']}")
    if plot is not None:
        say(f"picture: {plot}")


def _say_passed(recorded: dict[str, Any]) -> None:
    from republish.gate.verdict import verdict_from

    verdict = verdict_from(recorded)
    rows = [
        (attack, limit, figure, verdict.limits[limit])
        for attack, figures in verdict.worst().items()
        for limit, figure in figures.items()
    ]
    say_table(("attack", "limit of the gate", "found", "allowed"), rows)
    for note in verdict.notes:
        say(f"note: {note}")


def _show_series(series: Series, as_json: bool) -> None:
    from republish.publishers import parameters_of

    policy = series.policy
    publisher = policy.publisher
    if as_json:
        say_json({"policy": policy.document(), "promises": policy.promises, "releases": len(series.records)})
        return
    say(f"{series.root}: {len(series.records)} releases")
    say(f"publisher: {publisher.name}. {publisher.summary}")
    say(f"source: {publisher.paper}")
    given = ", ".join(f"{key} = {number(value)}" for key, value in parameters_of(publisher).items())
    say(f"parameters: {given}")
    for requirement in policy.requirements:
        say(f"every group: {requirement.text}. {requirement.describe()}")
    promised = policy.promises["series"]
    say(f"over the series: {'; '.join(promised) if promised else 'nothing; each release is protected alone'}")
    if not promised:
        from republish.publishing.policy_record import safer_publishers

        say(f"                 {safer_publishers()}")
    if policy.gate is not None:
        say(f"gate: {policy.gate.sentence()}")
    columns = [(column.name, "quasi-identifier", column.kind) for column in policy.schema.quasi_identifiers]
    columns += [(name, "insensitive", "") for name in policy.schema.insensitive]
    if policy.schema.identifier:
        columns.insert(0, (policy.schema.identifier, "identifier", ""))
    if policy.schema.sensitive:
        columns.append((policy.schema.sensitive.name, "sensitive", policy.schema.sensitive.kind))
    say_table(("column", "role", "kind"), columns)


@gathered
def verify(
    target: Annotated[Path, typer.Argument(help="Folder of a series, or any table (CSV or Parquet).")],
    *,
    schema: Annotated[Path | None, typer.Option(help="For a table: its schema.toml.")] = None,
    require: Annotated[str, typer.Option(help='For a table: what to check, "k=5,l=2,t=0.4".')] = "",
    gate: Annotated[
        bool, typer.Option("--gate", help="For a series: also make the attacks of its gate once more.")
    ] = False,
    engine: EngineOptions,
    as_json: Json = False,
) -> None:
    """Recompute every promise from what is stored; exit 1 where one does not hold."""
    from republish.errors import PolicyError

    if not target.exists():
        raise PolicyError(f"there is no series and no table at {target}")
    if target.is_dir():
        if schema is not None or require:
            raise PolicyError(
                "a series is checked for what its own policy promises; --schema and --require are for tables"
            )
        with engine_of(engine) as where:
            _verify_series(target, gate, where, as_json)
    else:
        if engine != EngineOptions():
            raise PolicyError("--engine, --master and --part-rows are for a series; a table is verified here")
        _verify_table(target, schema, require, as_json)


def _verify_series(folder: Path, gate: bool, where: Engine | None, as_json: bool) -> None:
    from republish.series import Series

    opened = Series.open(folder).snapshot()
    verdict = None
    with counted("verifying") as progress:
        found = opened.verify(progress, where)
        if gate:
            from republish.gate.run import judge_again

            verdict = judge_again(opened)
    passed = verdict is None or verdict.passed
    if as_json:
        say_json(found.as_dict() if verdict is None else found.as_dict() | {"gate": verdict.as_dict()})
    else:
        for problem in found.problems:
            say(f"problem: {problem}")
        for release, verification in found.releases.items():
            for check in verification.checks:
                if not check.holds:
                    say(f"broken: release {release}: {check.sentence()}")
        records = opened.records
        promised = records[-1].payload["promises"] if records else opened.policy.promises
        if found.holds:
            say(
                f"verified: {len(found.releases)} releases, chain and files intact, every group satisfies "
                f"{promised['one_table']}; over the series: {'; '.join(promised['series']) or 'nothing promised'}"
            )
            for promise in found.not_recomputable:
                say(
                    f"          but not {promise}: it was checked when each release was published and cannot be "
                    "recomputed, since raw quasi-identifiers are not stored"
                )
            skipped = {r: sum(c.unchecked for c in v.checks) for r, v in found.releases.items()}
            if any(skipped.values()):
                affected = sum(map(bool, skipped.values()))
                say(
                    f"          but {number(sum(skipped.values()))} groups of {affected} releases could not be "
                    "checked: they hold people whose history was forgotten"
                )
            if any(promise.partition("=")[0] in _CONSTANT_SIGNATURES for promise in promised["series"]):
                say(
                    f"          {number(found.new_lives)} changed values began a new life, "
                    "in which the signature need not be the old one"
                )
        if verdict is not None:
            say(f"gate: {'passed' if passed else 'NOT passed'}, attacked once more as the series is stored")
            for note in verdict.notes:
                say(f"note: {note}")
            for breach in verdict.breaches:
                say(f"broken: {breach.sentence()}")
    raise typer.Exit(0 if found.holds and passed else 1)


def _verify_table(table: Path, schema: Path | None, require: str, as_json: bool) -> None:
    from republish.errors import PolicyError
    from republish.requirements import parse_requirements
    from republish.schema import read_schema
    from republish.verify.table import verify_table

    if schema is None or not require:
        raise PolicyError(
            'to check a table give --schema FILE and --require, for example --require "k=5,l=2"'
        )
    found = verify_table(table, read_schema(schema), parse_requirements(require))
    if as_json:
        say_json(found.as_dict())
    else:
        say(
            f"{number(found.rows)} rows, {number(found.groups)} groups, {number(found.suppressed)} suppressed"
        )
        rows = [(c.promise, c.holds, c.reached, c.groups, c.rows) for c in found.checks]
        say_table(("promise", "holds", "weakest group", "groups against it", "rows against it"), rows)
    raise typer.Exit(0 if found.holds else 1)


@gathered
def measure(
    series: Folder,
    *,
    truth: Annotated[
        Path | None, typer.Option(help="Folder of the raw views, one a release, in the order of names.")
    ] = None,
    queries: Annotated[int, typer.Option(help="With --truth: how many random queries a release.")] = 1000,
    regress: Annotated[
        str | None,
        typer.Option(
            help='With --truth: compare the coefficients of a regression with those of the raw views: "pay ~ age".'
        ),
    ] = None,
    engine: EngineOptions,
    as_json: Json = False,
) -> None:
    """Usefulness and one-table risk of every release."""
    from republish.cli.arguments import truth_views
    from republish.errors import PolicyError
    from republish.series import Series

    opened = Series.open(series).snapshot()
    views = truth_views(truth, len(opened.records)) if truth else None
    if regress is not None and (views is None or engine.engine is not None):
        raise PolicyError("--regress compares with raw views, in this process; give --truth, and no --engine")
    with engine_of(engine) as where:
        if where is None:
            documents = _measures_here(opened, views, queries, regress)
        else:
            documents = [found.as_dict() for found in where.measure(opened, views, queries).values()]
    if as_json:
        say_json({str(i): document for i, document in enumerate(documents, start=1)})
        return
    names = (
        "#",
        "penalty",
        "discern.",
        "size",
        "KL",
        "query err",
        "value err",
        "MI kept",
        "max risk",
        "mean risk",
        "linkage",
        "l",
        "t",
    )
    say_table(names, [(i, *_measured(document)) for i, document in enumerate(documents, start=1)])
    coefficients = [
        (i, name, *one.values())
        for i, document in enumerate(documents, start=1)
        for name, one in (document.get("regression") or {}).items()
    ]
    if coefficients:
        say_table(("#", "coefficient", "raw view", "release", "standard error"), coefficients, regress)
    say("what they mean: docs/measures.md, or `republish show SERIES RELEASE`")


def _measures_here(
    series: Series, views: list[Path] | None, queries: int, regress: str | None
) -> list[dict[str, Any]]:
    """The measures that were recorded; with raw views, all measures made afresh."""
    from republish.metrics import measure as measure_release
    from republish.microdata import read_view

    records, documents = series.records, []
    with counted("measuring") as progress:
        for entry in records:
            release = entry.release or 0
            if views is None:
                documents.append(entry.payload["measures"])
            else:
                view = read_view(views[release - 1], series.schema, series.scales(release).values)
                found = measure_release(series.release(release), view, queries=queries, regress=regress)
                documents.append(found.as_dict())
            progress(release, len(records))
    return documents


def _measured(m: dict[str, Any]) -> tuple[Any, ...]:
    return (
        m["penalty"],
        m["discernibility"],
        m["average_class_size"],
        m["kl_divergence"],
        m["query_error"]["median"] if m["query_error"] else None,
        m["value_query_error"]["median"] if m.get("value_query_error") else None,
        m.get("information_kept"),
        m["prosecutor_risk"]["highest"],
        m["prosecutor_risk"]["average"],
        m["record_linkage"],
        m["levels"]["distinct_l"],
        m["levels"]["t"],
    )


def _say_measures(measures: dict[str, Any]) -> None:
    from republish.metrics import EXPLANATIONS

    rows = []
    for key, meaning in EXPLANATIONS.items():
        value = measures.get(key)  # earlier releases were not measured by all of today's measures
        shown = value["highest"] if isinstance(value, dict) and "highest" in value else value
        if isinstance(shown, int | float):
            rows.append((key.replace("_", " "), shown, meaning))
    say_table(("measure", "value", "meaning"), rows)
