"""What the desk reads from requests: adversaries, attacks, dates and roles, refused where nothing could be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from republish.errors import PolicyError, SchemaError
from republish.schema.column_names import listed, require_names
from republish.web import Invalid
from republish.web.uploads.columns import legible
from republish.web.uploads.uploads import Upload

if TYPE_CHECKING:
    from republish.publishers import Publisher
    from republish.release.forms import TwoTables
    from republish.schema import Schema
    from republish.series import Series
    from republish.sources.columns.understood import Understood
    from republish.tune.recommend import Recommendation
    from republish.tune.recommended_gate import TriedGate

RECOMMENDED, NO_GATE = "recommended", "none"
"""The gate whose limits were tried on the view, and that there shall be none."""
USUAL_GATE = {"max_determined": 0.01, "compromised": 0.04}
_MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class AskedRelease:
    """What is said of a release besides its view, as `Series.publish` takes it; `truth` are uploads."""

    as_of: str | None = None
    meant: Sequence[str] = ()
    truth: Sequence[str] = ()
    expect_anyway: str | None = None
    hold_newcomers: bool = False
    corrects: int | None = None


def granted(adversary: Mapping[str, Any]) -> dict[str, Any]:
    """What an adversary is granted, as plain settings; people cannot be named at the desk."""
    from republish.attacks import AdversaryOptions

    seed = adversary.get("seed", 0)
    if isinstance(seed, int) and not 0 <= seed <= _MOST_SEED:
        raise Invalid(f"seed of an adversary must be a whole number from 0 to {_MOST_SEED}")
    AdversaryOptions.from_mapping(adversary)
    return dict(adversary)


def require_attackable(
    series: Series, adversary: Mapping[str, Any], attacks: Sequence[str] | None, views: int = 0
) -> None:
    """Refuse before a job is started what could not be done with so many raw views."""
    from republish.attacks import AdversaryOptions, Means, informed, with_views, without_views

    if not series.records:
        raise PolicyError("there is nothing to attack yet; publish a first view")
    hers = informed(AdversaryOptions(**adversary).adversary(), series)
    if views not in (0, len(series.records)):
        raise PolicyError(
            f"one raw view a release is needed, or none: {len(series.records)} releases, {views} views"
        )
    means = Means(hers, views > 0, after_each=True, forming=series.publisher.forming)
    means.choose(attacks, with_views() if views else without_views())


def require_possible(series: Series, asked: AskedRelease) -> None:
    """Refuse a date that is none or too early, and to correct a release that is not the last."""
    from republish.publishing.as_of import moment_of
    from republish.publishing.correction import require_correctable

    records = series.records
    require_correctable(asked.corrects, records)
    moment_of(asked.as_of, records[-1].payload["as_of"] if records else None, asked.corrects is not None)


def schema_of(upload: Upload, roles: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Schema:
    """The schema that a person confirmed, every column of the view labelled once."""
    from republish.schema import ROLES
    from republish.sources.columns.understood import understand
    from republish.sources.propose import Proposal, schema_from

    if isinstance(roles, Mapping):
        roles = [
            {"name": name, **(said if isinstance(said, Mapping) else {"role": said})}
            for name, said in roles.items()
        ]
    kinds = ("number", "category", "date")
    names = [str(column.get("name", "")) for column in roles]
    with legible():
        understood = understand(upload.path)
    there = understood.table.columns
    require_names(there)
    lacking = [name for name in there if name not in names]
    if lacking or len(set(names)) < len(names) or set(names) - set(there):
        raise SchemaError(
            "every column of the view needs one role, and no other column has one; "
            f"the view has {listed(there)}" + (f", without a role are {listed(lacking)}" if lacking else "")
        )
    labelled = []
    for name, column in zip(names, roles, strict=True):
        role, kind = column.get("role"), column.get("kind") or None
        if role not in ROLES:
            raise SchemaError(f"column {name}: a role is one of {', '.join(ROLES)}")
        if kind is not None and kind not in kinds:
            raise SchemaError(
                f"column {name}: a kind is one of {', '.join(kinds)}; for an order write a schema.toml and use "
                "`republish init`"
            )
        labelled.append(Proposal(name, str(role), kind, ""))
        understood = _answered(understood, name, column.get("form"), column.get("missing") or ())
    return schema_from(labelled, understood)


def _answered(understood: Understood, name: str, form: str | None, missing: Sequence[str]) -> Understood:
    """What is understood, with a person's answers on one column: how days are written, which numbers mean missing."""
    forms, codes = understood.unclear.get(name, ()), understood.maybe.get(name, ())
    if form and form not in forms:
        raise SchemaError(
            f"column {name}: its days are clear"
            if not forms
            else f"column {name}: days are written as {' or '.join(forms)}; choose one"
        )
    if set(missing) - set(codes):
        raise SchemaError(f"column {name}: only numbers that were proposed for it can mean missing here")
    understood = understood.with_form(name, form) if form else understood
    return understood.with_codes(name, missing) if missing else understood


def advice_on(
    uploads: Sequence[Upload],
    schema: Schema,
    form: str | Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
) -> Recommendation:
    """What is recommended for a series that begins with these views, refused where a promise could not be kept."""
    from republish.release.forms import TwoTables, form_from
    from republish.tune.recommend import recommend
    from republish.tune.situation import Answers

    tables, said = form_from(form), Answers.from_mapping(answers or {})
    if form is not None and tables is None:
        said = said.otherwise(Answers(one_table=True))
    with legible():
        advice = recommend(
            [upload.path for upload in uploads], schema, form=tables or TwoTables(), answers=said
        )
    advice.require_kept()
    return advice


def method_of(
    advice: Recommendation | None,
    name: str | None,
    parameters: dict[str, Any],
    require: str,
    form: str | Mapping[str, Any] | None,
    schema: Schema,
) -> tuple[Publisher, TwoTables | None]:
    """The publisher that was named or is recommended, and its form; parameters that are given count more."""
    from republish.publishers import PUBLISHERS, make_publisher, new_series_parameters, parameters_of
    from republish.release.forms import TwoTables, form_from
    from republish.requirements import parse_requirements

    requirements, knowledge = parse_requirements(require), None
    if advice is not None:
        name, parameters = advice.publisher.name, parameters_of(advice.publisher) | parameters
        requirements = requirements or advice.publisher.require
        knowledge = advice.publisher.knowledge
    assert name is not None
    tables = form_from(form)
    if form is None and name in PUBLISHERS and PUBLISHERS[name].keeps_counts:
        tables = TwoTables()
    if advice is not None:
        tables = advice.form
    parameters = new_series_parameters(
        name, parameters, two_tables=tables is not None, open_list=schema.has_open_list
    )
    return make_publisher(name, parameters, requirements, knowledge), tables


def gate_of(
    gate: str | Mapping[str, Any] | None,
    method: tuple[Publisher, TwoTables | None],
    schema: Schema,
    uploads: Sequence[Upload],
    advice: Recommendation | None,
) -> TriedGate:
    """The gate that was asked for, or the recommended one, tried on the uploads, and why there is none.

    Where nothing is said, the recommended one with a recommended publisher, else none.
    """
    from republish.gate.limits import gate_from_mapping, parse_gate
    from republish.tune.recommended_gate import TriedGate, gate_for

    if gate == RECOMMENDED or (gate is None and advice is not None):
        with legible():
            views = [upload.path for upload in uploads]
            return gate_for(*method, schema, views, advice, asked=gate is not None)
    if not gate or gate == NO_GATE:
        return TriedGate(None)
    return TriedGate(parse_gate(gate) if isinstance(gate, str) else gate_from_mapping(gate))
