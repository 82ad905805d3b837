"""One colour an attack, everywhere; and a colour of figures by their limits."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from republish.attacks.registry import KINDS
from republish.show.colours import MANY_COLOURS, look_of, status_of


def test_every_attack_looks_unlike_all_others() -> None:
    looks = [look_of(name) for name in KINDS]
    assert len({(look.colour, look.style, look.marker) for look in looks}) == len(KINDS)
    assert len({look.colour for look in looks[:8]}) == 8


def test_a_label_that_begins_with_an_attack_has_its_look() -> None:
    assert look_of("linear, 4 % known") == look_of("linear") == look_of("linear: determined")
    assert look_of("some adversary") == look_of("some adversary")


def test_the_desk_draws_in_the_same_colours() -> None:
    sheet = files("republish.web").joinpath("static/desk.css").read_text()
    light = sheet.partition("@media")[0]
    assert tuple(re.findall(r"--a\d: (#\w{6});", light)) == MANY_COLOURS


def test_the_same_attack_has_the_same_colour_whatever_is_drawn_beside_it() -> None:
    import numpy as np

    from republish.attacks.summary import summed
    from republish.show.plots import attacks_figure

    nobody = summed(np.zeros(1), np.zeros(1, dtype=np.bool_), None)
    colours = [
        {
            line.get_label(): line.get_color()
            for line in attacks_figure(dict.fromkeys(names, (nobody,))).axes[0].lines
        }
        for names in (("linear",), ("tau", "linear"))
    ]
    assert colours[0]["linear"] == colours[1]["linear"] == look_of("linear").colour


@pytest.mark.parametrize(
    ("figure", "limit", "found", "status"),
    [
        (0.0, None, False, ""),
        (0.5, None, False, ""),
        (0.01, 0.01, False, "good"),
        (0.02, 0.01, False, "bad"),
        (0.777, None, True, "bad"),
        (0.005, 0.01, True, "bad"),
        (None, 0.01, False, ""),
    ],
)
def test_green_needs_a_limit_and_red_people(
    figure: float | None, limit: float | None, found: bool, status: str
) -> None:
    assert status_of(figure, limit, found) == status
