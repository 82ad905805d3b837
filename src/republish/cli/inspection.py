"""`history`, `show` and `measure`: reading commands; none of them writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.engine_options import EngineOptions, engine_of
from republish.cli.options import Folder, gathered
from republish.cli.output import Json, counted, say, say_json, say_table
from republish.show.numbers import day, number
from republish.show.promises import bounds_in, spreads_in, words_on_correction, words_on_release

if TYPE_CHECKING:
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
    "possible",
    "cuts",
    "margins",
    "moved",
    "extended",
    "ends",
    "view_digest",
}


def history(series: Folder, as_json: Json = False) -> None:
    """All releases of a series, one line each, and what else happened to it."""
    from republish.gate.amendment import amendments_of
    from republish.series import Series

    opened = Series.open(series).snapshot()
    withdrawn = opened.withdrawn()
    lines = [_line(entry, entry.release in withdrawn) for entry in opened.records]
    made = {entry.seq: one for entry, one in amendments_of(opened.policy.gate, opened.ledger.entries())}
    others = [
        {
            "entry": entry.seq,
            "kind": entry.kind,
            "recorded_at": entry.recorded_at,
            "release": entry.release,
            "digest": entry.digest,
            **{key: entry.payload[key] for key in ("changes", "reason") if key in entry.payload},
            "what": made[entry.seq].change() if entry.seq in made else _what(entry.payload),
        }
        for entry in opened.ledger.entries()
        if entry.kind not in ("release", "adopt")
    ]
    if as_json:
        head = opened.ledger.head.digest
        say_json({"series": str(series), "releases": lines, "other_entries": others, "head": head})
        return
    if lines:
        two = any("batches" in line for line in lines)
        columns = _TWO_TABLE_COLUMNS if two else _COLUMNS
        columns = columns | _KEPT_COUNTS if opened.policy.publisher.keeps_counts else columns
        say_table(list(columns.values()), [[_shown(line, key) for key in columns] for line in lines])
        for line in lines:
            if "expect_anyway" in line:
                say(
                    f"release {line['release']} was published although it was not expected: {line['expect_anyway']}"
                )
    else:
        say(f"nothing published yet; next: republish publish {series} VIEW.csv")
    shown = ("entry", "kind", "recorded_at", "release", "what", "reason")
    say_table(
        ("entry", "what", "when", "release", "change", "reason"),
        [[other.get(key) for key in shown] for other in others],
        "Other entries",
    )


def _what(payload: dict[str, Any]) -> str:
    """What an amendment changed, in words."""
    from republish.publishing.schema_changes import sentence_of

    if "hierarchy" in payload:
        return f"column {payload['column']}: {number(payload['added'])} leaves"
    return "; ".join(sentence_of(one) for one in payload.get("changes", ()))


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
    "waiting": "to come",
    "penalty": "penalty",
    "highest_risk": "risk",
    "gate": "gate",
    "status": "",
}


_TWO_TABLE_COLUMNS = {
    "release": "#",
    "as_of": "as of",
    "rows": "people",
    "groups": "groups",
    "batches": "batches",
    "suppressed": "no batch",
    **{key: _COLUMNS[key] for key in list(_COLUMNS)[list(_COLUMNS).index("counterfeits") :]},
}


_KEPT_COUNTS = {"suppressed": "waiting", "counterfeits": "held"}
"""What the same figures are called where batches keep counts of earlier releases."""


def _shown(line: dict[str, Any], key: str) -> Any:
    """A figure of the history; where nothing was suppressed or added, the column stays empty and is left out."""
    return line[key] or None if key in ("suppressed", "counterfeits", "status") else line.get(key)


def _line(entry: Any, withdrawn: bool) -> dict[str, Any]:
    payload = entry.payload
    corrects = payload.get("corrects", {}).get("release")
    return {
        "release": entry.release,
        "as_of": day(payload["as_of"]),
        **{key: payload[key] for key in ("rows", "groups", "suppressed", "counterfeits")},
        **({"batches": payload["two_tables"]["batches"]} if "two_tables" in payload else {}),
        **{key: payload["arrivals"][key] for key in ("new", "returned", "left")},
        **({"waiting": payload["waiting"]} if payload.get("waiting") else {}),
        "penalty": payload["measures"]["penalty"],
        "highest_risk": payload["measures"]["prosecutor_risk"]["highest"],
        "gate": "passed" if payload.get("gate", {}).get("passed") else None,
        "status": ", ".join(
            word
            for word, true in (
                ("adopted", entry.adopted),
                ("withdrawn", withdrawn),
                (f"corrects {corrects}", corrects),
            )
            if true
        ),
        "digest": entry.digest,
        **{key: payload[key] for key in ("meant", "expect_anyway") if key in payload},
    }


def show(
    series: Folder,
    release: Annotated[
        int | None, typer.Argument(help="Number of a release; the series itself if not given.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a picture of the groups over two quasi-identifiers, and of batches (needs the extra plots)."
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
        from republish.show.two_tables import plot_release

        plot_release(opened.release(release), plot, axes)
    document = {key: value for key, value in entry.payload.items() if key not in _HIDDEN}
    document["folder"] = str(opened.ledger.folder(release))
    document["withdrawn"] = release in opened.withdrawn()
    if as_json:
        say_json(document)
        return
    marks = ", ".join(word for word in ("adopted", "withdrawn") if document.get(word))
    say(f"release {release} as of {document['as_of']}" + (f" ({marks})" if marks else ""))
    arrivals = document["arrivals"]
    order = ("new", "returned", "left", "changed_value", "changed_quasi_identifiers")
    say_table(("people", "number"), [(key.replace("_", " "), arrivals[key]) for key in order])
    if "two_tables" in document:
        _say_counts(document["two_tables"])
    _say_measures(document["measures"], two="two_tables" in document)
    if "corrects" in document:
        for sentence in words_on_correction(document["corrects"], opened.policy.publisher.keeps_counts):
            say(sentence)
    for sentence in words_on_release(document, opened.policy.publisher.keeps_counts):
        say(sentence)
    if document.get("waiting"):
        say(f"{number(document['waiting'])} people of the view wait for a later release")
    checks = document["verification"]["checks"]
    say_table(
        ("promise", "holds", "weakest group"), [(c["promise"], c["holds"], c["reached"]) for c in checks]
    )
    for sentence in bounds_in(checks):
        say(f"bound: {sentence}")
    for sentence in spreads_in(checks):
        say(sentence)
    if "adopted" in document:
        from republish.cli.adopt import say_adopted
        from republish.show.adopted import assumed

        for sentence in assumed(document["adopted"]):
            say(sentence)
        say_adopted(document["adopted"])
    if "gate" in document:
        _say_passed(document["gate"])
    say(f"files: {document['folder']}")
    if plot is not None:
        say(f"picture: {plot}")


def _say_counts(counts: dict[str, Any]) -> None:
    """What is counted of two tables."""
    from republish.metrics.summary import COUNTS

    say_table(
        ("two tables", "number", "meaning"),
        [(key.replace("_", " "), counts[key], meaning) for key, meaning in COUNTS.items() if key in counts],
    )


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
    from republish.publishing.limits import limits_of, limits_of_adopted
    from republish.release.forms import form_sentence

    policy = series.in_force
    publisher = policy.publisher
    if as_json:
        say_json({"policy": policy.document(), "promises": policy.promises, "releases": len(series.records)})
        return
    adopted = series.ledger.entries().adopted
    before = f", the first {adopted} adopted from elsewhere" if adopted else ""
    say(f"{series.root}: {len(series.records)} releases{before}")
    say(f"publisher: {publisher.name}. {publisher.summary}")
    say(f"source: {publisher.paper}")
    given = ", ".join(f"{key} = {number(value)}" for key, value in parameters_of(publisher).items())
    say(f"parameters: {given}")
    say(f"form: {form_sentence(policy.form)}")
    for requirement in policy.of_people or ():
        say(f"every group of people: {requirement.text}. {requirement.describe()}")
    for requirement in policy.requirements:
        group = "group" if policy.form is None else "batch"
        say(f"every {group}: {requirement.text}. {requirement.describe()}")
    say(f"over the series: {'; '.join(policy.over_series).replace('nothing:', 'nothing;')}")
    if not publisher.series_promises:
        from republish.publishing.policy_record import safer_publishers

        say(f"                 {safer_publishers()}")
    for sentence in (*limits_of(policy), *limits_of_adopted(adopted)):
        say(f"not promised: {sentence}")
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
def measure(
    series: Folder,
    *,
    truth: Annotated[
        Path | None,
        typer.Option(help="Folder of the raw views, one for each release, in the order of their names."),
    ] = None,
    queries: Annotated[
        int, typer.Option(help="With --truth: number of random queries for each release.")
    ] = 1000,
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
        say_json({"releases": {str(i): document for i, document in enumerate(documents, start=1)}})
        return
    names = (
        "#",
        "penalty",
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
    if opened.policy.form is not None:
        say("l and t are those of the batches of values; all else is of the table of people")
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


def _say_measures(measures: dict[str, Any], two: bool) -> None:
    from republish.metrics.summary import explanations

    rows = []
    for key, meaning in explanations(two).items():
        value = measures.get(key)  # earlier releases were not measured by all of today's measures
        shown = value["highest"] if isinstance(value, dict) and "highest" in value else value
        if isinstance(shown, int | float):
            rows.append((key.replace("_", " "), shown, meaning))
    say_table(("measure", "value", "meaning"), rows)
