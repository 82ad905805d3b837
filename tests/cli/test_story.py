"""The table of `republish demo`: every count stands beside the people it is of."""

from pathlib import Path

from republish.attacks import Adversary, history_of
from republish.cli.story import _determined
from republish.datasets import hospital
from republish.publishers import Mondrian
from republish.schema import read_schema
from republish.series import Series


def test_the_demo_counts_for_every_attack_the_people_whom_it_attacked(tmp_path: Path) -> None:
    hospital(views=2, rows=200, seed=7).write(tmp_path / "hospital")
    schema = read_schema(tmp_path / "hospital" / "schema.toml")
    series = Series.create(tmp_path / "series", schema, Mondrian(k=4), seed=7, one_table=True)
    for view in sorted((tmp_path / "hospital" / "views").iterdir()):
        series.publish(view)
    everyone = history_of(series.snapshot()).people
    for known in (0.0, 0.1):
        intersection, tau, linear = (int(cell.split(" of ")[1]) for cell in _determined(series.root, known))
        assert intersection == tau == everyone  # they make no use of compromised people, and count them
        spared = int(Adversary(compromised=known).known(history_of(series.snapshot())).sum())
        assert linear == everyone - spared
        assert (spared > 0) == (known > 0)
