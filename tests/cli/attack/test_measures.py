"""Which figures of releases `attack` shows: those of signatures only where signatures are promised something."""

import pytest

from republish.attacks import SeriesMeasures
from republish.attacks.series_measures import ReleaseMeasures
from republish.cli.attack.output import say_measures

RELEASE = ReleaseMeasures(
    people=10,
    groups=2,
    counterfeits=1,
    external_updates=0,
    internal_updates=0,
    sensitive_updates=0,
    quasi_identifier_updates=0,
    vulnerable=3,
    unexplained=4,
    hc_unsafe=5,
)


@pytest.mark.parametrize(
    ("promises", "signatures", "correlations"),
    [
        ((), False, False),
        (("value-blind", "open-batches=5", "determined=0.002@0.04"), False, False),
        (("tau-safety=4",), True, False),
        (("m-invariance=4",), True, False),
        (("weak-m-invariance=4", "hc-safety=3"), True, True),
    ],
)
def test_figures_of_signatures_are_shown_where_they_mean_something(
    promises: tuple[str, ...], signatures: bool, correlations: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    say_measures(SeriesMeasures((RELEASE,), 3), promises)
    said = capsys.readouterr().out
    assert "counterfeits" in said
    for word in ("vulnerable", "unexplained", "set of values to hide in changed after"):
        assert (word in said) == signatures
    for word in ("hc-unsafe (n=3)", "all but fewer than n members"):
        assert (word in said) == correlations
