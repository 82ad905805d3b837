"""Cor-Split at the command line: p, L and h choose the degree, and `verify` shows what they promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from republish.cli import app
from republish.datasets.census import CensusSeries, Turnover


def run(*words: object) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done


def test_p_l_and_h_give_a_verified_bound_of_a_breach(tmp_path: Path) -> None:
    CensusSeries(people=900, rows=240, views=2, changes=Turnover(24, 24, 0, 0), seed=5).write(tmp_path)
    series, views = tmp_path / "s", tmp_path / "views"
    chosen = ["-p", "p=.04", "-p", "L=24", "-p", "h=.1"]
    made = run("init", series, "--schema", tmp_path / "schema.toml", "--publisher", "cor-split", *chosen)
    assert "hc-safety=3; pvr-safety=0.1@0.04; lifespan=24" in " ".join(made.output.split())
    for number in ("001", "002"):
        run("publish", series, views / f"{number}.csv")
    found = json.loads(run("verify", series, "--json").output)
    assert found["holds"]
    assert list(found["releases"]) == ["1", "2"]
    for release in found["releases"].values():
        bound = [one for one in release["checks"] if one["promise"].startswith("pvr-safety=0.1@0.04")]
        assert [one["holds"] for one in bound] == [True]
    assert "pvr-safety=0.1@0.04; lifespan=24" in " ".join(run("verify", series).output.split())
