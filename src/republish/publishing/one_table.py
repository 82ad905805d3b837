"""One table, no series: nothing is remembered and nothing is promised about other releases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from republish.memory.memory import Memory
from republish.microdata import read_view
from republish.publishers import Publisher, publisher_of
from republish.publishing.publishable import require_publishable, shapes_of
from republish.release.release import Release, build_release
from republish.schema import Schema
from republish.schema.files import schema_of
from republish.secret import Secret
from republish.verify.bt_privacy import checks_of_beliefs
from republish.verify.possible_values import checks_of_possible
from republish.verify.table import verify_against_view, verify_frame


def anonymize(
    table: Any, schema: Schema | str | Path, publisher: Publisher | str, seed: int | None = None
) -> Release:
    """A verified release of one table; its order comes from the system's entropy unless a seed is given.

    The schema may be the path of a file, the publisher a name.
    """
    schema, publisher = schema_of(schema), publisher_of(publisher)
    view = read_view(table, schema)
    require_publishable(schema, shapes_of(view))
    secret = Secret.new() if seed is None else Secret.from_text(f"one table with seed {seed}")
    shuffled = view.pseudonymous(secret) if view.identifiers is not None else view
    grouping = publisher.publish(shuffled, Memory.empty(), secret.generator("publisher"))
    release, group_of_row = build_release(shuffled, grouping, secret, "once")
    verification = verify_frame(release.frame(), schema, publisher.requirements)
    verification.with_checks(
        verify_against_view(release, shuffled, group_of_row),
        *checks_of_beliefs(publisher.bt, shuffled, group_of_row),
        *checks_of_possible(publisher.possible, shuffled, group_of_row, release),
    ).require()
    return release
