"""`init`: a new series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from republish.cli.amend import AS_RECOMMENDED
from republish.cli.columns import ColumnOptions, ask_reading, choose, is_said
from republish.cli.options import gathered, option
from republish.cli.output import Json, say, say_json, say_table
from republish.cli.recommendation import ChoiceOptions, advised, say_compared
from republish.cli.report_fields import ReportFieldOptions
from republish.show.promises import promised_of_groups

if TYPE_CHECKING:
    from republish.gate.limits import Gate
    from republish.publishers import Publisher
    from republish.release.forms import TwoTables
    from republish.schema import Schema
    from republish.series import Series
    from republish.tune.recommend import Recommendation
    from republish.tune.recommended_gate import TriedGate


RECOMMENDED, NO_GATE = "value-blind", "none"


@dataclass(frozen=True)
class SchemaOptions(ColumnOptions):
    """Where the roles of columns come from."""

    identifier: str | None = option(None, "With --from: the column that identifies people.")
    sensitive: str | None = option(
        None, "With --from: the column whose value nobody may learn about a person, or none."
    )

    def read(self, quiet: bool) -> Schema:
        """The schema of the file, or the one that is proposed and confirmed; `quiet` says nothing of the proposal."""
        from republish.errors import PolicyError
        from republish.schema import read_schema
        from republish.schema.column_names import listed
        from republish.sources.propose import AMBIGUOUS, rivals, schema_from, with_identifier, with_sensitive

        if self.schema is not None and not self.proposes:
            return read_schema(self.schema)
        proposals, understood = self.proposed(quiet)
        if self.identifier is not None:
            proposals = with_identifier(proposals, self.identifier)
        if self.sensitive is not None:
            proposals = with_sensitive(proposals, self.sensitive)
        elif self.yes and rivals(proposals):
            proposed = next(p.name for p in proposals if p.role == "sensitive")
            raise PolicyError(
                f"{AMBIGUOUS}: {listed([proposed, *rivals(proposals)])}. Say which with --sensitive NAME; the others "
                "are left out, unless a schema says otherwise"
            )
        if not quiet:
            if understood.sentence:
                say(f"read {understood.sentence}")
            say_table(
                ("column", "role", "kind", "looks like", "because"),
                [(p.name, p.role, p.kind, p.looks, p.why) for p in proposals],
            )
        if not self.yes:
            proposals = [p if is_said(p) else _ask(p) for p in proposals]
        if self.sensitive is None and all(p.role != "sensitive" for p in proposals):
            names = [p.name for p in proposals]
            proposals = with_sensitive(proposals, _ask_sensitive(self.yes, names))
        return schema_from(proposals, ask_reading(understood, proposals, self.yes, quiet))

    @property
    def asks(self) -> bool:
        """Whether somebody is there to answer."""
        return self.schema is None and not self.yes

    def require_one(self) -> None:
        """Refuse to do without roles, and roles that are given twice."""
        from republish.errors import PolicyError

        if self.schema is None and not self.view:
            raise PolicyError("give --schema FILE or --from VIEW, or both")
        said = (self.sensitive, self.identifier, self.label, self.columns, self.read_as)
        if not self.proposes and any(one is not None for one in said):
            raise PolicyError(
                "--identifier and --sensitive go with --from; a schema has the roles of all columns, and says how "
                "files are read: so do --label, --columns and --read"
            )


@dataclass(frozen=True)
class FormOptions:
    """In how many tables people and values are published."""

    form: str | None = option(
        None,
        "one-table, or two-tables: people with fine quasi-identifiers, and values by batch. Without it two-tables for "
        "value-blind, else one-table.",
    )
    people_k: int | None = option(None, "In two tables: at least so many people look alike. [5]")
    presence: str | None = option(
        None, "In two tables: public says that it is no secret who is in them; then k may be 1. [protected]"
    )

    hide_batch: bool = option(
        False,
        "In two tables: cells coarse enough that nobody's quasi-identifiers exclude a batch.",
        "--hide-batch",
    )

    def made(self, publisher: str, advice: Recommendation | None = None) -> TwoTables | None:
        """The form, `None` for one table; where none is given, that which is recommended, or the publisher needs."""
        from republish.errors import PolicyError
        from republish.release.forms import ONE_TABLE, TWO_TABLES, form_from

        given = {"k": self.people_k, "presence": self.presence, "hide_batch": self.hide_batch or None}
        settings = {name: value for name, value in given.items() if value is not None}
        two = publisher == RECOMMENDED if advice is None else advice.form is not None
        form = self.form or (TWO_TABLES if two else ONE_TABLE)
        if advice is not None and form == ONE_TABLE and two:
            raise PolicyError(f"{'; '.join(advice.why)}. Begin without --form, or choose a publisher by hand")
        if form == ONE_TABLE and advice is not None and not two:
            settings = {}  # they are those of the tables that were tried
        if form == ONE_TABLE and settings:
            raise PolicyError(f"--people-k, --presence and --hide-batch go with --form {TWO_TABLES}")
        return form_from({"name": form, **settings})


@dataclass(frozen=True)
class SeriesOptions:
    """What the series promises, and where it lies."""

    parameter: list[str] | None = option(None, "A parameter of the publisher: -p k=5", "-p", "--parameter")
    require: str = option("", 'What every group must satisfy: "k=5,l=3,t=0.4".')
    one_table: bool = option(
        False, "Accept a publisher that promises nothing over the series.", "--one-table"
    )
    gate: str = option(
        "",
        'Refuse releases that give away too much: "max_determined=0.01,compromised=0.04", recommended for a limit that '
        "was tried on --from, or none. Without it the recommended one where no publisher is named, else none.",
    )
    seed: int | None = option(None, "Seed of the series; from the system's entropy if not given.")
    knowledge: Path | None = option(
        None, "Folder with knowledge.toml: what an adversary knows (js-reduce, bayframe)."
    )
    theta: Path | None = option(
        None, "Table of a quasi-identifier and the sensitive column: the pairs that are possible (cor-split)."
    )
    ledger: str | None = option(None, "URL of a database for the catalogue; a local file if not given.")
    store: str | None = option(
        None, "Folder, or address such as s3://bucket/folder, for releases and memory."
    )

    def publisher(
        self,
        name: str,
        form: TwoTables | None,
        schema: Schema | None = None,
        advice: Recommendation | None = None,
    ) -> Publisher:
        """The publisher of that name with these parameters; with a schema also with the knowledge that was given.

        Parameters that are not given are those that are recommended, or serve the form and values of the series best.
        """
        from republish.cli.arguments import assignments
        from republish.knowledge import read_knowledge
        from republish.knowledge.possible_values import PossibleValues
        from republish.publishers import make_publisher, new_series_parameters, parameters_of
        from republish.requirements import parse_requirements

        known = read_knowledge(self.knowledge, schema) if self.knowledge and schema is not None else None
        require = parse_requirements(self.require)
        parameters: dict[str, Any] = dict(assignments(self.parameter or [], "-p"))
        if self.theta is not None and schema is not None:
            parameters["theta"] = PossibleValues.of_table(self.theta, schema).text
        parameters = new_series_parameters(
            name,
            parameters,
            two_tables=form is not None,
            open_list=schema is not None and schema.has_open_list,
        )
        if advice is not None:
            parameters = parameters_of(advice.publisher) | parameters
            known, require = known or advice.publisher.knowledge, require or advice.publisher.require
        return make_publisher(name, parameters, require, known)

    def limits(
        self,
        made: Publisher,
        form: TwoTables | None,
        schema: Schema,
        views: Sequence[Path],
        advice: Recommendation | None,
    ) -> TriedGate:
        """The gate that was asked for, else the recommended one, and why there is none; for a named publisher none."""
        from republish.errors import PolicyError
        from republish.tune.recommended_gate import TriedGate, gate_for

        asked = self.gate == AS_RECOMMENDED
        if self.gate and not asked:
            return TriedGate(self.given_limits())
        if advice is None and not asked:
            return TriedGate(None, "no gate is set" if made.series_promises else "")
        found = gate_for(made, form, schema, views, advice, asked)
        if asked and found.gate is None:
            why = found.why_not or "no gate is recommended for what is published once"
            raise PolicyError(f"{why}. Limits of your own are such as max_determined=0.01,compromised=0.04")
        return found

    def given_limits(self) -> Gate | None:
        """The gate that was typed, `None` where none was."""
        from republish.gate.limits import parse_gate

        return None if self.gate in ("", AS_RECOMMENDED, NO_GATE) else parse_gate(self.gate)


@gathered
def init(
    series: Annotated[Path, typer.Argument(help="New folder of the series.")],
    *,
    roles: SchemaOptions,
    choice: ChoiceOptions,
    tables: FormOptions,
    options: SeriesOptions,
    said: ReportFieldOptions,
    as_json: Json = False,
) -> None:
    """Make a new series: its policy, its secret, its ledger. Nothing is published yet."""
    from republish.ledger.files import require_new
    from republish.series import Series

    publisher, answers = choice.publisher, choice.given(tables.form)
    roles.require_one()
    require_new(series)
    asked = tables.made(publisher) if publisher else replace(tables, form=None).made(RECOMMENDED)
    options.publisher(publisher or RECOMMENDED, asked)  # before anything is asked
    options.given_limits()
    schema = roles.read(quiet=as_json)
    if publisher is None and roles.asks:
        answers = choice.asked(answers, roles.view or [], schema)
    advice = None if publisher else advised(roles.view or [], schema, asked, answers, choice.compare)
    name = advice.publisher.name if advice else publisher or RECOMMENDED
    form = tables.made(name, advice)
    method = options.publisher(name, form, schema, advice)
    tried = options.limits(method, form, schema, roles.view or [], advice)
    made = Series.create(
        series,
        schema,
        method,
        seed=options.seed,
        ledger=options.ledger,
        one_table=options.one_table,
        gate=tried.gate,
        store=options.store,
        form=form,
        report=said.given(),
        situation=(answers if advice is None else advice.answers).given(),
    )
    if as_json:
        promises = made.policy.promises
        shape = {} if form is None else {"form": form.document()}
        why = {} if advice is None else {"recommended": advice.as_dict()}
        none = {} if tried.gate is not None or not tried.why_not else {"no_gate": tried.why_not}
        say_json({"series": str(series), "publisher": name, **shape, "promises": promises, **none, **why})
    else:
        _say(made, series, options.one_table, advice, tried.why_not)


def _say(
    made: Series, folder: Path, one_table: bool, advice: Recommendation | None, no_gate: str = ""
) -> None:
    from republish.publishing.limits import weighed_together
    from republish.publishing.policy_record import safer_publishers
    from republish.release.forms import form_sentence
    from republish.secret import VARIABLE

    policy = made.policy
    name, promises = policy.publisher.name, policy.promises
    say(f"made {folder}: {name}, {promised_of_groups(promises)}")
    say(f"form: {form_sentence(policy.form)}")
    if advice is not None:
        say_compared(advice)
        for kind, sentences in (("why", advice.why), ("cost", advice.costs)):
            for sentence in sentences:
                say(f"{kind}: {sentence}")
        for note in advice.notes:
            say(note)
    if promises["series"]:
        say(f"over all releases: {'; '.join(promises['series'])}")
    if not policy.publisher.series_promises:
        say(
            f"note: {name} protects each release alone and promises nothing over the series; {safer_publishers()}"
        )
        if not one_table:
            say("      from the second release on it needs one_table = true in series.toml")
    if policy.publisher.told_by_choices:
        say(f"warning: {policy.publisher.told_by_choices}")
    for sentence in weighed_together(policy):
        say(f"not promised: {sentence}")
    if policy.gate is not None:
        say(f"every release must pass the gate: {policy.gate.sentence()}")
    elif no_gate:
        say(f"note: {no_gate}. Once two releases are out: republish amend {folder} --gate recommended")
    if policy.store is not None:
        say(f"releases and memory lie in {policy.store}")
    secret = folder / "private" / "secret.key"
    place = secret if secret.is_file() else f"that of {VARIABLE}, which no backup holds"
    say(f"the secret is {place}: keep it, and a copy of it, to yourselves")
    say(_on_earlier_releases(policy.publisher, folder))
    say(f"next: republish publish {folder} VIEW.csv")


def _on_earlier_releases(publisher: Publisher, folder: Path) -> str:
    """What to do where the table was published before there was this series."""
    if publisher.keeps_counts:
        return (
            f"were releases of this table handed out before? {publisher.name} cannot count them: begin with "
            "--publisher tau-safety and take them in with republish adopt (docs/adopt.md)"
        )
    return (
        "were releases of this table handed out before? Take them in first, oldest first: "
        f"republish adopt {folder} TABLE --view VIEW"
    )


def _ask(proposal: Any) -> Any:
    """Ask for role and kind of one column, the proposal being the answer to Enter."""
    from dataclasses import replace

    from republish.schema import KINDS, ROLES

    role = choose(f"{proposal.name}: role", ROLES, proposal.role)
    kind = proposal.kind
    if role in ("quasi-identifier", "sensitive"):
        kind = choose(
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
