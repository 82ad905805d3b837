"""The command that makes a series of a policy."""

from __future__ import annotations

import shlex
from pathlib import Path

from republish.gate.limits import Gate
from republish.policy import Policy
from republish.publishers import parameters_of
from republish.release.forms import TWO_TABLES
from republish.requirements import requirements_text


def init_command(policy: Policy, new: Path, schema: Path, knowledge: Path) -> str:
    """The `republish init` of a `new` series with all that a policy says."""
    publisher = policy.publisher
    words = ["republish", "init", str(new), "--schema", str(schema), "--publisher", publisher.name]
    for name, value in parameters_of(publisher).items():
        if value == "":  # nothing is said of it
            continue
        words += ["-p", f"{name}={_text(value)}"]
    if publisher.require:
        words += ["--require", requirements_text(publisher.require)]
    if policy.knowledge is not None:
        words += ["--knowledge", str(knowledge)]
    if policy.form is not None:
        words += ["--form", TWO_TABLES, "--people-k", str(policy.form.k), "--presence", policy.form.presence]
        words += ["--hide-batch"] if policy.form.hide_batch else []
    if policy.gate is not None:
        words += ["--gate", _gate_text(policy.gate)]
    return shlex.join([*words, *(["--one-table"] if policy.one_table else [])])


def _gate_text(gate: Gate) -> str:
    return ",".join(
        f"{name}={'+'.join(value) if name == 'attacks' else _text(value)}"
        for name, value in gate.document().items()
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
