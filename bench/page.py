"""Writes docs/benchmarks.md, its figures as CSV and its plots. `python -m bench.page`.

Everything is measured in one run: the limits in this process, the other packages in environments of their own.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from bench import limits
from bench.limits import Ratio
from bench.peers.__main__ import OUT, K, line, measured
from bench.peers.package import QUASI

DOCS = Path("docs")
IMAGES = DOCS / "images"
OURS, THEIRS = "#2f6f9f", "#a7b0b8"
TEMPLATE = Path(__file__).with_suffix(".md")


def verdict(found: list[dict[str, Any]]) -> str:
    """How many times as fast as every other package our fastest publisher is whose penalty is no higher."""
    said = []
    for rows in sorted({one["rows"] for one in found}):
        timed = [one for one in found if one["rows"] == rows and "seconds" in one]
        ours = [one for one in timed if one["package"].startswith("republish")]
        for other in (one for one in timed if one not in ours):
            as_good = [one for one in ours if one["penalty"] <= other["penalty"]]
            if as_good:
                best = min(as_good, key=lambda one: min(one["seconds"]))
                times = min(other["seconds"]) / min(best["seconds"])
                said.append(
                    f"{rows:,} rows: {best['package']} is {times:,.0f} times as fast as {other['package']}, "
                    f"at a penalty of {best['penalty']:.3f} instead of {other['penalty']:.3f}."
                )
    return "\n".join(f"- {one}" for one in said)


def draw_peers(found: list[dict[str, Any]], path: Path) -> None:
    """Seconds, on a logarithmic scale, and penalty of every package."""
    timed = [one for one in found if "seconds" in one][::-1]
    names = [f"{one['package']}, {one['rows']:,} rows" for one in timed]
    colours = [OURS if one["package"].startswith("republish") else THEIRS for one in timed]
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(9, 0.8 + 0.32 * len(timed)))
    least, most = ([pick(one["seconds"]) for one in timed] for pick in (min, max))
    left.barh(names, most, color=colours)
    left.hlines(range(len(timed)), least, most, color="black", linewidth=1)
    left.set_xscale("log")
    left.xaxis.set_major_formatter("{x:g}")
    left.set_xlabel("seconds (line: least to most)")
    right.barh(names, [one["penalty"] for one in timed], color=colours)
    right.set_xlabel("penalty")
    _save(figure, path)


def draw_limits(found: list[Ratio], path: Path) -> None:
    """A dot for each repeat; at the line we are as fast as the limit."""
    figure, axes = plt.subplots(figsize=(9, 0.8 + 0.4 * len(found)))
    for place, one in enumerate(found[::-1]):
        axes.plot(one.ratios, [place] * len(one.ratios), "o", color=OURS)
    axes.set_yticks(range(len(found)), [f"{one.what.replace('`', '')} / {one.limit}" for one in found[::-1]])
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("our seconds for one of the limit")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def write_csv(path: Path, columns: list[str], rows: Iterable[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def main() -> None:
    """Measure all, write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[5_000, 30_000], help="of the tables of all packages"
    )
    chosen = parser.parse_args()
    mpl.use("Agg")
    os.environ["PYTHONWARNINGS"] = "ignore"
    folder = DOCS / "benchmarks"
    for one in (OUT, IMAGES, folder):
        one.mkdir(parents=True, exist_ok=True)
    ratios = []
    for one in limits.measured():
        print(limits.line(one), flush=True)
        ratios.append(one)
    found = [one for rows in chosen.rows for one in measured(rows)]
    shown = ["rows", "package", "mebibytes", "penalty", "suppressed"]
    write_csv(
        folder / "peers.csv",
        [*shown, "seconds"],
        ([*(one[name] for name in shown), took] for one in found for took in one.get("seconds", [])),
    )
    write_csv(
        folder / "limits.csv",
        ["what", "rows", "limit", "seconds", "limit_seconds"],
        (
            [one.what, one.rows, one.limit, *pair]
            for one in ratios
            for pair in zip(one.seconds, one.limits, strict=True)
        ),
    )
    draw_peers(found, IMAGES / "benchmarks-peers.png")
    draw_limits(ratios, IMAGES / "benchmarks-limits.png")
    text = TEMPLATE.read_text(encoding="utf-8").format(
        cores=os.cpu_count(),
        python=platform.python_version(),
        day=datetime.now(UTC).date(),
        quasi=", ".join(QUASI),
        k=K,
        peers="\n".join(line(one) for one in found),
        verdict=verdict(found),
        limits="\n".join(limits.line(one) for one in ratios),
    )
    (DOCS / "benchmarks.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
