"""The first five minutes: what an installation, first commands and later ones cost. `python -m bench.start`.

Commands run in a fresh environment (or with `--here` in this one) with an empty cache of kernels; first ones as they
come, later ones three times. Wall clocks mean something on a quiet machine alone, so CPU seconds stand beside them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ROWS, REPEATS = 500, 3
SERIES = {
    "mondrian": ("-p", "k=4", "--one-table"),
    "penalty-tree": ("-p", "k=4", "--one-table"),
    "banga": ("-p", "k=4", "--one-table"),
    "rplus-tree": ("-p", "k=4", "--one-table"),
    "m-invariance": ("-p", "m=4"),
    "tau-safety": ("-p", "m=4"),
    "cor-split": ("-p", "m=3"),
    "js-reduce": ("--knowledge", "data/knowledge"),
    "bayframe": ("--knowledge", "data/knowledge"),
    "cohorts": (),
    "value-blind": (),
}


VIEWS = ("--from", "data/views/001.csv", "--from", "data/views/002.csv")
COMMANDS = {
    "show": ("show", "now", "1"),
    "history": ("history", "now"),
    "verify": ("verify", "now"),
    "read": ("read", "now/releases/0001"),
    "query": ("query", "now", "2"),
    "measure": ("measure", "now", "--truth", "data/views"),
    "attack": ("attack", "now"),
    "report": ("report", "now", "-o", "report.html"),
}
"""What is measured of the series that was published last, of two releases."""


class Cost(NamedTuple):
    cpu: float
    wall: float


class Bench:
    """One environment, one working folder, and a cache of kernels that can be emptied."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder, self.cache = python, folder, folder / "cache"
        self.environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.environment["NUMBA_CACHE_DIR"] = str(self.cache)

    def run(self, *command: str) -> Cost:
        """What a command costs with all processes that it starts."""
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [self.python, "-m", "republish", *command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"republish {' '.join(command)}: {done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(cpu, time.perf_counter() - began)

    def served(self) -> Cost:
        """What it costs until the desk answers."""
        began = time.perf_counter()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        desk = subprocess.Popen(
            [self.python, "-m", "republish", "serve", ".", "--port", str(port)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while desk.poll() is None:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            ticks = (
                Path(f"/proc/{desk.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[11:13]
            )
            return Cost(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"), time.perf_counter() - began)
        finally:
            desk.terminate()
            desk.wait()

    def measure(self, name: str, work: Callable[[], Cost]) -> None:
        """Print a row: once with an empty cache, then again and again."""
        shutil.rmtree(self.cache, ignore_errors=True)
        first, later = work(), [work() for _ in range(REPEATS)]
        cpu, wall = sorted(one.cpu for one in later), sorted(one.wall for one in later)
        print(
            f"| {name} | {first.cpu:.2f} | {first.wall:.2f} | {cpu[1]:.2f} ({cpu[0]:.2f} to {cpu[-1]:.2f}) "
            f"| {wall[1]:.2f} ({wall[0]:.2f} to {wall[-1]:.2f}) |",
            flush=True,
        )

    def demo(self) -> Cost:
        """What the whole demo costs."""
        shutil.rmtree(self.folder / "demo", ignore_errors=True)
        return self.run("demo", "--out", "demo")

    def publish(self, name: str) -> Cost:
        """What the first release of a fresh series costs."""
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        shutil.copytree(self.folder / name, self.folder / "now")
        return self.run("publish", "now", "data/views/001.csv", "--as-of", "2026-01-01")


def installed(folder: Path, extras: str) -> Path:
    """A fresh environment with the product in it; what that took is printed."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", f"{ROOT}[{extras}]"], check=True)
    seconds = time.perf_counter() - began
    size = sum(path.lstat().st_size for path in folder.rglob("*"))
    packages = subprocess.check_output([*pip, "list", "--format=freeze"], text=True).count("\n")
    print(f"installed republish[{extras}]: {seconds:.0f} s, {size / 1e6:.0f} MB, {packages} packages\n")
    return python


def measure(bench: Bench, publishers: Sequence[str]) -> None:
    bench.run("generate", "hospital", "data", "--views", "2", "--rows", str(ROWS))
    print(f"| {ROWS} rows | first, CPU s | first, s | later, CPU s | later, s |\n|---|---|---|---|---|")
    bench.measure("`--help`", lambda: bench.run("--help"))

    def make(name: str) -> Cost:
        shutil.rmtree(bench.folder / name, ignore_errors=True)
        given = ("--publisher", name, "--seed", "7", *SERIES[name])
        return bench.run("init", name, "--schema", "data/schema.toml", *given)

    for name in publishers:
        make(name)
    bench.measure("init", lambda: make(publishers[0]))

    def chosen() -> Cost:
        shutil.rmtree(bench.folder / "chosen", ignore_errors=True)
        return bench.run("init", "chosen", "--schema", "data/schema.toml", *VIEWS, "--yes")

    bench.measure("init --from, publishers compared", chosen)
    for name in publishers:
        bench.measure(f"publish, {name}", lambda name=name: bench.publish(name))
    bench.run("publish", "now", "data/views/002.csv", "--as-of", "2026-01-08")
    for name, command in COMMANDS.items():
        bench.measure(name, lambda command=command: bench.run(*command))
    bench.measure("serve, until it answers", bench.served)
    bench.measure("demo", bench.demo)
    bench.measure("warm", lambda: bench.run("warm"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", action="store_true", help="use this environment, install nothing")
    parser.add_argument("--extras", default="web", help="what a fresh environment has besides")
    parser.add_argument("publishers", nargs="*", default=list(SERIES), help="all unless named")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="republish-start-") as folder:
        place = Path(folder)
        python = Path(sys.executable) if given.here else installed(place / "environment", given.extras)
        (place / "work").mkdir()
        measure(Bench(python, place / "work"), given.publishers)


if __name__ == "__main__":
    main()
