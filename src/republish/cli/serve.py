"""`serve`: the web desk."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

_UNITS = {"": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}


def serve(
    series: Annotated[
        list[Path],
        typer.Argument(
            metavar="SERIES...",
            help="Folders of series, or folders that hold several; new series go into the first of the latter.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; the next free one if it is taken.")
    ] = 8000,
    upload_limit: Annotated[str, typer.Option(help="Largest file that may be uploaded.")] = "200MB",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines reach it, unencrypted.")
    ] = False,
) -> None:
    """Open the web desk: publish, look, attack and download in a browser on this machine."""
    from republish.errors import PolicyError

    limit = size_of(upload_limit)
    missing = [name for name in ("fastapi", "uvicorn", "multipart", "jinja2") if find_spec(name) is None]
    if missing:
        raise PolicyError(
            f"the web desk needs {', '.join(missing)}; install it with `pip install 'republish[web]'`"
        )
    from republish.web.app import serve as run

    run(series, host, port, limit, allow_remote, typer.echo)


def size_of(text: str) -> int:
    """A number of bytes in a text such as 200MB."""
    from republish.errors import PolicyError

    found = re.fullmatch(r"\s*(\d+)\s*(KB|MB|GB|)\s*", text.upper())
    size = int(found[1]) * _UNITS[found[2]] if found else 0
    if size < 1:
        raise PolicyError("--upload-limit is a size such as 200MB, from 1 byte on")
    return size
