"""`generate`, `learn` and `demo`: data and knowledge to try things on."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from republish.cli.options import gathered, option
from republish.cli.output import say, steps


class Dataset(enum.StrEnum):
    """The data sets that can be generated."""

    hospital = "hospital"
    census = "census"


class Preset(enum.StrEnum):
    """Protocols of the papers, and the course of illness that is fitted to one."""

    tau_safety = "tau-safety"
    thesis = "thesis"
    cor_split = "cor-split"
    cor_split_33 = "cor-split-33"
    fitted = "fitted"


Seed = Annotated[int, typer.Option(help="The same seed gives the same files.")]
_RATE = "A share of the rows, or a number of people from 1 on."


@dataclass(frozen=True)
class GenerateOptions:
    """How large the views are, and how they change."""

    views: int | None = option(None, "Number of views. [24 hospital, 20 census]")
    rows: int | None = option(None, "Rows of each view. [5000 hospital, 60000 census]")
    people: int | None = option(None, "Census: people in all. [600000]")
    insert: float | None = option(None, _RATE)
    delete: float | None = option(None, _RATE)
    update: float | None = option(None, _RATE)
    reinsert: float | None = option(None, _RATE)

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@gathered
def generate(
    dataset: Annotated[
        Dataset, typer.Argument(help="hospital: weekly exam results; census: people and incomes.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write: views/001.csv ..., schema.toml, knowledge/.")],
    options: GenerateOptions,
    preset: Annotated[
        Preset | None, typer.Option(help="Census: a paper's protocol; hospital: fitted to a paper.")
    ] = None,
    seed: Seed = 7,
) -> None:
    """Make a series of raw views to try things on."""
    from republish.datasets import PRESETS, census, hospital
    from republish.errors import PolicyError

    settings = options.given()
    if dataset is Dataset.hospital:
        if preset not in (None, Preset.fitted) or set(settings) - {"views", "rows"}:
            raise PolicyError("the hospital series takes --views, --rows, --seed and --preset fitted only")
        series: Any = hospital(**settings, seed=seed, preset=preset.value if preset else "recreated")
    else:
        if preset is Preset.fitted:
            raise PolicyError(
                "--preset fitted is of the hospital series; give a preset of the census, or none"
            )
        if preset and set(settings) - {"people"}:
            raise PolicyError("--preset sets rows, views and rates; give it with --people and --seed only")
        series = census(**({**PRESETS[preset.value], **settings} if preset else settings), seed=seed)
    with steps(f"generating {dataset.value}", ("writing",)) as step:
        step("writing")
        series.write(out)
    written = len(list((out / "views").iterdir()))
    say(f"{written} views in {out / 'views'}, schema in {out / 'schema.toml'}")
    first = sorted((out / "views").iterdir())[:2]
    given = " ".join(f"--from {view}" for view in first)
    say(f"next: republish init SERIES --schema {out / 'schema.toml'} {given}")
    if dataset is Dataset.hospital:
        say(
            f"or:   republish init SERIES --schema {out / 'schema.toml'} --publisher js-reduce "
            f"--knowledge {out / 'knowledge'}"
        )


@dataclass(frozen=True)
class LearnOptions:
    """How what is learned is counted, and what it says of what was not seen."""

    order: int = option(2, "How many last values the next one is predicted from: 0 to 3.")
    smoothing: float = option(0.0, "How many observations a less exact context counts for.")
    bandwidth: float | None = option(None, "Find the prior by kernel regression with this bandwidth.")
    unseen: str = option(
        "shorter",
        "What follows a context that never occurred: what follows a shorter one (shorter), or nothing (zero).",
    )
    gaps: str = option("skip", "Values follow each other over absences (skip), or from view to view (count).")


@gathered
def learn(
    out: Annotated[
        Path, typer.Argument(help="New folder to write: knowledge.toml, prior.csv, sequential.csv.")
    ],
    views: Annotated[list[Path], typer.Argument(help="Raw views of another source, oldest first.")],
    schema: Annotated[Path, typer.Option(help="schema.toml with the role of every column, or a series.")],
    options: LearnOptions,
    like: Annotated[
        Path | None, typer.Option(help="Take the classes of people and terminal values from this knowledge.")
    ] = None,
) -> None:
    """Learn from views what an adversary may know: how likely values are, and how they follow each other."""
    from republish.errors import PolicyError
    from republish.knowledge import Knowledge, read_knowledge
    from republish.knowledge import learn as learned
    from republish.schema import read_schema

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
        found = learned(views, roles, classes, terminal=ends, **asdict(options))
        step("writing")
        found.write(out)
    say(
        f"{found.size} values, {found.classes.count} classes of people, contexts of {found.order} values: {out}\n"
        f"next: republish init SERIES --schema {schema} --publisher js-reduce --knowledge {out}"
    )


def demo(
    out: Annotated[Path, typer.Option(help="Where to put the data and the series.")] = Path("demo"),
    weeks: Annotated[int, typer.Option(min=1, max=24, help="How many weeks to publish.")] = 6,
) -> None:
    """Publish the first weeks of a made-up hospital, from raw views to verified releases."""
    from republish.cli.story import run_demo

    run_demo(out, weeks)
