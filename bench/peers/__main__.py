"""See the package."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import polars as pl

from bench.peers.ours import PUBLISHERS
from bench.peers.package import QUASI, SENSITIVE
from republish import read_schema
from republish.datasets import census

HERE = Path(__file__).parent
OUT = Path("bench/out/peers")
K = 10
PEERS = {"anjana": [], "anonypy": ["pandas"], "anonypyx": []}
"""Packages that anonymize, with what they need and do not ask for."""
CHECKERS = {"pycanon": []}
PATIENCE = 900


def environment(name: str, needs: list[str]) -> Path | None:
    """The interpreter of an environment of a package's own, None where it does not install."""
    folder = OUT / name
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", name, *needs]
        if subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
        (folder / "ready").touch()
    return python


def table(rows: int) -> Path:
    """A census of numbers alone: categories by their place in the list of the schema."""
    path = OUT / f"census-{rows}.csv"
    if not path.exists():
        folder = Path(mkdtemp(dir=OUT))
        census(people=2 * rows, rows=rows, views=1, seed=7).write(folder)
        schema = read_schema(folder / "schema.toml")
        columns = {one.name: one for one in (*schema.quasi_identifiers, schema.sensitive)}
        frame = pl.read_csv(folder / "views" / "001.csv")
        for name in (*QUASI[1:], SENSITIVE):
            labels = list(getattr(columns[name], "order", None) or columns[name].domain)
            frame = frame.with_columns(pl.col(name).replace_strict(labels, range(len(labels))))
        frame.write_csv(path)
    return path


def run(command: list[Any], limit: float = PATIENCE) -> dict[str, Any]:
    """What a measurement printed; empty where it failed or took too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        return json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {}
    except subprocess.TimeoutExpired:
        return {}


def measured(rows: int) -> list[dict[str, Any]]:
    """A line for every package."""
    path, lines = table(rows), []
    everyone = [
        (name, [sys.executable, "-m", "bench.peers.ours"]) for name in (*PUBLISHERS, "republish, verify")
    ]
    for name, needs in {**PEERS, **CHECKERS}.items():
        python = environment(name, needs)
        everyone.append((name, [python, HERE / "package.py"] if python else []))
    for name, command in everyone:
        found = run([*command, name, path, str(K)]) if command else {}
        lines.append({"rows": rows, "package": name, **found})
        print(line(lines[-1]), flush=True)
    return lines


def line(found: dict[str, Any]) -> str:
    """One line of the table."""
    head = f"| {found['rows']:,} | {found['package']} |"
    if "checks" in found:
        checks = ", ".join(f"{name} {took:.2f} s" for name, took in found["checks"].items())
        return f"{head} checks {checks} | | | |"
    if "seconds" not in found:
        return f"{head} does not install, or takes longer than {PATIENCE} s | | | |"
    least, most = min(found["seconds"]), max(found["seconds"])
    return (
        f"{head} {least:.3f} to {most:.3f} s | {found['mebibytes']:.0f} MiB | {found['penalty']:.4f} | "
        f"{found['suppressed']:,} |"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers", description=sys.modules["bench.peers"].__doc__
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000, 30_000])
    chosen = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONWARNINGS"] = "ignore"
    print(f"k = {K}, quasi-identifiers {', '.join(QUASI)}")
    print("| rows | package | seconds | memory | penalty | suppressed |\n|---|---|---|---|---|---|")
    for rows in chosen.rows:
        measured(rows)


if __name__ == "__main__":
    main()
