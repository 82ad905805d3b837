"""A chosen point as files: a policy, the schema, and the command that makes a series of them."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import tomli_w

from republish.errors import PolicyError
from republish.policy import FILE, Policy
from republish.publishing.init_command import init_command as made_by
from republish.tune.frontier import Point
from republish.tune.space import Candidate, policy_of

if TYPE_CHECKING:
    from republish.knowledge import Extracted, Knowledge
    from republish.series import Series

SCHEMA = "schema.toml"
_BESIDE = (SCHEMA, "hierarchies", "knowledge")


def chosen_policy(series: Series, point: Point, knowledge: Knowledge | Extracted | None = None) -> Policy:
    """The policy of a series with the publisher of a point; `knowledge` is what the search was made with."""
    start = replace(series.in_force, schema=series.schema)
    known = start.knowledge if knowledge is None else knowledge
    return policy_of(Candidate(point.publisher, point.parameters, point.require), start, known)


def require_free(file: Path) -> None:
    """Refuse a file for a policy where it, or what is written beside it, would meet something that is there."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise PolicyError(f"there is no folder {folder}; make it first")
    taken = [name for name in (file.name, *_BESIDE) if (folder / name).exists()]
    if taken:
        raise PolicyError(
            f"a policy is not written over what is there: {', '.join(taken)} in {folder}; choose a new folder"
        )


def write_policy(policy: Policy, file: Path) -> list[Path]:
    """Write a policy as `series.toml` has it, and beside it the schema, hierarchies and knowledge that it needs.

    Raises:
        PolicyError: one of them is there already; nothing was written.
    """
    require_free(file)
    folder = file.absolute().parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=".policy-") as made:
        policy.write(Path(made))
        schema = Path(made) / SCHEMA
        schema.write_text(tomli_w.dumps(policy.document()["schema"]), encoding="utf-8")
        schema.chmod(0o600)
        targets = {path: folder / path.name for path in sorted(Path(made).iterdir()) if path.name != FILE}
        targets[Path(made) / FILE] = file.absolute()  # last: with it everything is there
        for source, target in targets.items():
            shutil.move(source, target)
    return list(targets.values())


def init_command(policy: Policy, file: Path) -> str:
    """The command that makes a series of a policy that was written to a file."""
    folder = file.parent
    return made_by(policy, Path("NEW"), folder / SCHEMA, folder / "knowledge")
