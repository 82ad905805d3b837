"""`generate`, `init` and `demo`: everything before the first release."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from republish.cli.output import Json, say, say_json, say_table, steps


class Dataset(enum.StrEnum):
    """The data sets that can be generated."""

    hospital = "hospital"
    census = "census"


class Preset(enum.StrEnum):
    """Protocols of the papers."""

    tau_safety = "tau-safety"
    cor_split = "cor-split"
    cor_split_33 = "cor-split-33"


Seed = Annotated[int, typer.Option(help="The same seed gives the same files.")]
Rate = Annotated[float | None, typer.Option(help="A share of the rows, or a number of people from 1 on.")]


def generate(
    dataset: Annotated[
        Dataset, typer.Argument(help="hospital: weekly exam results; census: people and incomes.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write: views/001.csv ..., schema.toml, knowledge/.")],
    views: Annotated[int | None, typer.Option(help="Number of views. [24 hospital, 20 census]")] = None,
    rows: Annotated[int | None, typer.Option(help="Rows a view. [5000 hospital, 60000 census]")] = None,
    people: Annotated[int | None, typer.Option(help="Census: people in all. [600000]")] = None,
    insert: Rate = None,
    delete: Rate = None,
    update: Rate = None,
    reinsert: Rate = None,
    preset: Annotated[
        Preset | None, typer.Option(help="Census: a paper's protocol instead of rates.")
    ] = None,
    seed: Seed = 7,
) -> None:
    """Make a series of raw views to try things on."""
    from republish.datasets import PRESETS, census, hospital
    from republish.errors import PolicyError

    given: dict[str, Any] = {"views": views, "rows": rows}
    of_census = {"people": people, "insert": insert, "delete": delete, "update": update, "reinsert": reinsert}
    if dataset is Dataset.hospital:
        if preset or any(value is not None for value in of_census.values()):
            raise PolicyError("the hospital series takes --views, --rows and --seed only")
        series: Any = hospital(**_given(given), seed=seed)
    else:
        settings = _given(given | of_census)
        if preset and set(settings) - {"people"}:
            raise PolicyError("--preset sets rows, views and rates; give it with --people and --seed only")
        series = census(**({**PRESETS[preset.value], **settings} if preset else settings), seed=seed)
    with steps(f"generating {dataset.value}", ("writing",)) as step:
        step("writing")
        series.write(out)
    written = len(list((out / "views").iterdir()))
    say(f"{written} views in {out / 'views'}, schema in {out / 'schema.toml'}")
    known = f" --publisher js-reduce --knowledge {out / 'knowledge'}" if dataset is Dataset.hospital else ""
    say(f"next: republish init SERIES --schema {out / 'schema.toml'}{known or ' --publisher tau-safety'}")


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if value is not None}


def learn(
    out: Annotated[
        Path, typer.Argument(help="New folder to write: knowledge.toml, prior.csv, sequential.csv.")
    ],
    views: Annotated[list[Path], typer.Argument(help="Raw views of another source, oldest first.")],
    schema: Annotated[Path, typer.Option(help="schema.toml with the role of every column.")],
    order: Annotated[int, typer.Option(help="How many last values tell the next: 0 to 3.")] = 2,
    like: Annotated[
        Path | None, typer.Option(help="Take the classes of people and terminal values from this knowledge.")
    ] = None,
    smoothing: Annotated[float, typer.Option(help="Observations that a less exact context is worth.")] = 0.0,
    bandwidth: Annotated[
        float | None, typer.Option(help="Find the prior by kernel regression with this bandwidth.")
    ] = None,
) -> None:
    """Learn from views what an adversary may know: how likely values are, and how they follow each other."""
    from republish.errors import PolicyError
    from republish.knowledge import Knowledge, read_knowledge
    from republish.knowledge import learn as learned
    from republish.schema.schema import read_schema

    if out.exists():
        raise PolicyError(f"{out} must be a new folder; choose another name")
    roles = read_schema(schema)
    model = read_knowledge(like, roles) if like else None
    classes, ends = None, ()
    if model is not None:
        classes = model.classes
        ends = (
            tuple(model.values[code] for code in model.terminal)
            if isinstance(model, Knowledge)
            else model.terminal
        )
    with steps(f"learning from {len(views)} views", ("counting", "writing")) as step:
        step("counting")
        found = learned(views, roles, classes, order, smoothing, ends, bandwidth)
        step("writing")
        found.write(out)
    say(
        f"{found.size} values, {found.classes.count} classes of people, contexts of {found.order} values: {out}\n"
        f"next: republish init SERIES --schema {schema} --publisher js-reduce --knowledge {out}"
    )


def init(
    series: Annotated[Path, typer.Argument(help="New folder of the series.")],
    publisher: Annotated[
        str, typer.Option(help="The system that groups rows; see docs/publishers.md.")
    ] = "mondrian",
    schema: Annotated[Path | None, typer.Option(help="schema.toml with the role of every column.")] = None,
    view: Annotated[
        Path | None, typer.Option("--from", help="Propose roles and kinds from this CSV or Parquet file.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Take the proposal without asking.")] = False,
    sensitive: Annotated[
        str | None,
        typer.Option(help="With --from: the column that nobody may learn of a person, or none."),
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("-p", "--parameter", help="A parameter of the publisher: -p k=5")
    ] = None,
    require: Annotated[str, typer.Option(help='What every group must satisfy: "k=5,l=3,t=0.4".')] = "",
    one_table: Annotated[
        bool, typer.Option("--one-table", help="Accept a publisher that promises nothing over the series.")
    ] = False,
    gate: Annotated[
        str,
        typer.Option(
            help='Refuse releases that give away too much: "max_determined=0.01,compromised=0.04,attacks=linear".'
        ),
    ] = "",
    seed: Annotated[
        int | None, typer.Option(help="Seed of the series; from the system's entropy if not given.")
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(help="Folder with knowledge.toml: what an adversary knows (js-reduce, bayframe)."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="URL of a database for the catalogue; a local file if not given.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Folder, or address such as s3://bucket/folder, for releases and memory."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a new series: its policy, its secret, its ledger. Nothing is published yet."""
    from republish.cli.arguments import assignments
    from republish.errors import PolicyError
    from republish.gate.limits import parse_gate
    from republish.knowledge import read_knowledge
    from republish.publishers import make_publisher
    from republish.requirements import parse_requirements
    from republish.schema.schema import read_schema
    from republish.series import Series
    from republish.sources.propose import propose, schema_from, with_sensitive

    if (schema is None) == (view is None):
        raise PolicyError("give either --schema FILE or --from VIEW")
    if sensitive is not None and view is None:
        raise PolicyError("--sensitive goes with --from; a schema says itself which column is sensitive")
    parameters, requirements = assignments(parameter or [], "-p"), parse_requirements(require)
    make_publisher(publisher, parameters, requirements)  # before anything is asked
    limits = parse_gate(gate) if gate else None
    if schema is not None:
        roles = read_schema(schema)
    else:
        proposals = propose(view)
        if sensitive is not None:
            proposals = with_sensitive(proposals, sensitive)
        if not as_json:
            say_table(
                ("column", "role", "kind", "because"), [(p.name, p.role, p.kind, p.why) for p in proposals]
            )
        if not yes:
            proposals = [_ask(proposal) for proposal in proposals]
        if sensitive is None and all(p.role != "sensitive" for p in proposals):
            proposals = with_sensitive(proposals, _ask_sensitive(yes, [p.name for p in proposals]))
        roles = schema_from(proposals)
    known = read_knowledge(knowledge, roles) if knowledge else None
    made_publisher = make_publisher(publisher, parameters, requirements, known)
    made = Series.create(
        series, roles, made_publisher, seed=seed, ledger=ledger, one_table=one_table, gate=limits, store=store
    )
    promises = made.policy.promises
    if as_json:
        say_json({"series": str(series), "publisher": made_publisher.name, "promises": promises})
        return
    say(f"made {series}: {made_publisher.name}, every group satisfies {promises['one_table']}")
    if promises["series"]:
        say(f"over all releases: {'; '.join(promises['series'])}")
    else:
        _warn_one_table(made_publisher.name, one_table)
    if made.policy.gate is not None:
        say(f"every release must pass the gate: {made.policy.gate.sentence()}")
    if made.policy.store is not None:
        say(f"releases and memory lie in {made.policy.store}")
    say(f"the secret is {series / 'private' / 'secret.key'}: keep it, and a backup of it, to yourselves")
    say(f"next: republish publish {series} VIEW.csv")


def _warn_one_table(name: str, accepted: bool) -> None:
    from republish.publishing.policy_record import safer_publishers

    say(
        f"note: {name} protects each release alone and promises nothing over the series; {safer_publishers()}"
    )
    if not accepted:
        say("      from the second release on it needs one_table = true in series.toml")


def _ask(proposal: Any) -> Any:
    """Ask for role and kind of one column, the proposal being the answer to Enter."""
    from dataclasses import replace

    from republish.schema.schema import KINDS, ROLES

    role = _choose(f"{proposal.name}: role", ROLES, proposal.role)
    kind = proposal.kind
    if role in ("quasi-identifier", "sensitive"):
        kind = _choose(
            f"{proposal.name}: kind", [kind for kind in KINDS if kind != "ordered"], kind or "category"
        )
    return replace(proposal, role=role, kind=kind)


def _ask_sensitive(yes: bool, names: Sequence[str]) -> str:
    """The column that is said to be sensitive, or `none`; without anyone to ask, the reason why it must be said."""
    from republish.errors import SchemaError
    from republish.schema.column_names import listed
    from republish.sources.propose import NO_SENSITIVE, NONE

    if yes:
        raise SchemaError(
            f"{NO_SENSITIVE}. Say which one is with --sensitive NAME, or that none is with --sensitive {NONE}; "
            f"the columns are {listed(names)}"
        )
    say(NO_SENSITIVE)
    while True:
        answer = str(typer.prompt(f"which column is sensitive (its name, or {NONE})"))
        if answer in (*names, NONE):
            return answer
        say(f"please answer with one of {listed([*names[:5], NONE])}")


def _choose(question: str, choices: Sequence[str], default: str) -> str:
    """One of the choices, or a beginning that only one of them has."""
    while True:
        answer = str(typer.prompt(f"{question} ({', '.join(choices)})", default=default))
        fitting = [choice for choice in choices if choice.startswith(answer)]
        if len(fitting) == 1:
            return fitting[0]
        say(f"please answer with one of {', '.join(choices)}")


def demo(
    out: Annotated[Path, typer.Option(help="Where to put the data and the series.")] = Path("demo"),
    weeks: Annotated[int, typer.Option(min=1, max=24, help="How many weeks to publish.")] = 6,
) -> None:
    """Publish the first weeks of a made-up hospital, from raw views to verified releases."""
    from republish.cli.story import run_demo

    run_demo(out, weeks)
