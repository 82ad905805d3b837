"""What commands print with `--json`, held against the JSON Schema that the package ships."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA: dict[str, Any] = json.loads(files("republish.cli").joinpath("schemas/v1.json").read_text())
DOCUMENTS = {ref["$ref"].rpartition("/")[2] for ref in SCHEMA["anyOf"]}


def valid(text: str, name: str) -> dict[str, Any]:
    """The one document on the one line, if it has the form of that name and is of that command."""
    assert text.count("\n") == 1 and text.endswith("\n") and text.isascii()
    found: dict[str, Any] = json.loads(text)
    assert list(found)[:2] == ["schema_version", "command"]
    problems = [
        f"{one.json_path}: {one.message}"
        for one in Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{name}"}]}).iter_errors(found)
        for one in one.context or [one]
    ]
    assert problems == []
    assert name == "error" or found["command"] == name.partition("-")[0]
    return found
