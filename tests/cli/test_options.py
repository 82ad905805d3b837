"""Options gathered in dataclasses: typer sees each of them, the command gets them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from republish.cli.options import gathered, option

given: list[object] = []


@dataclass(frozen=True)
class Colours:
    """Two options."""

    ground: str = option("white", "Below.")
    sign: bool = option(True, "On it.", "--sign/--no-sign")


@gathered
def paint(
    wall: Annotated[str, typer.Argument(help="Where.")],
    *,
    coats: Annotated[int, typer.Option(help="How often.")] = 1,
    colours: Colours,
) -> None:
    """Paint a wall."""
    given.append((wall, coats, colours))


app = typer.Typer()
app.command()(paint)


def test_the_command_gets_its_options_together() -> None:
    given.clear()
    assert CliRunner().invoke(app, ["north", "--no-sign", "--ground", "red", "--coats", "2"]).exit_code == 0
    assert CliRunner().invoke(app, ["south"]).exit_code == 0
    assert given == [("north", 2, Colours("red", False)), ("south", 1, Colours())]


def test_help_lists_every_option_in_the_order_it_is_declared() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    assert "Paint a wall." in text
    places = [text.index(word) for word in ("--coats", "--ground", "--no-sign")]
    assert places == sorted(places)
