"""`warm`: all kernels compiled before they are needed."""

from __future__ import annotations

from dataclasses import asdict

from republish.cli.output import Json, counted, say, say_json
from republish.show.numbers import number


def warm(as_json: Json = False) -> None:
    """Compile all kernels on all cores, so that no later command has to. Only large tables need it."""
    from republish.warm import warm as warmed

    with counted("compiling kernels") as progress:
        done = warmed(lambda _what, at, count: progress(at, count))
    if as_json:
        say_json(asdict(done))
        return
    say(f"{number(done.kept)} kernels are compiled, {number(done.compiled)} of them now")
    say(f"kept in {done.folder}, {done.size / 1e6:.0f} MB; the folder may be removed at any time")
