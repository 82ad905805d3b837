"""What people say of a series for its report, written into `series.toml`: it promises nothing and may change."""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import replace

import tomli_w

from republish.ledger.files import sync_folder, write, writing
from republish.policy import FILE, report_fields
from republish.series import Series

_SECTION = re.compile(r"^\[report\][^\n]*\n(?:(?!\[).*\n?)*", re.MULTILINE)


def amend_report(series: Series, fields: Mapping[str, str]) -> dict[str, str]:
    """Write [report] of `series.toml` anew, as a whole or not at all; return what it says now.

    Raises:
        PolicyError: there is no such field.
    """
    said = report_fields(fields, "the report")
    path = series.root / FILE
    part = path.with_name(f".{FILE}.{secrets.token_hex(4)}")
    with series.writing("amend"), writing("series.toml could not be written", "the series is as it was"):
        text = _with_report(path.read_text(encoding="utf-8"), said)
        try:
            write(part, text.encode())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(series.root)
        series.policy = replace(series.policy, report=said)
    return said


def _with_report(text: str, said: Mapping[str, str]) -> str:
    """The text with another [report]; all else, comments too, stays as it is where that can be told."""
    section = {"report": dict(said)} if said else {}
    wanted = {name: value for name, value in tomllib.loads(text).items() if name != "report"} | section
    edited = _SECTION.sub("", text).rstrip("\n") + "\n" + (f"\n{tomli_w.dumps(section)}" if said else "")
    try:
        kept = tomllib.loads(edited) == wanted
    except tomllib.TOMLDecodeError:
        kept = False
    return edited if kept else tomli_w.dumps(wanted)
