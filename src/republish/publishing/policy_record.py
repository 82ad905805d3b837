"""The policy is frozen with the first release: what the ledger records of it, and whether it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import republish
from republish.errors import PolicyError
from republish.ledger import Entry
from republish.policy import FILE, Policy, hierarchies_digest
from republish.publishers import PUBLISHERS


def policy_record(policy: Policy, promises: dict[str, Any]) -> dict[str, Any]:
    """What the ledger keeps of the policy with every release, and of what is promised of it by then."""
    direct = policy.schema.published_directly
    return ({"direct": list(direct)} if direct else {}) | {
        "policy": policy.digest(),
        "hierarchies": hierarchies_digest(policy.schema),
        "promises": promises,
        "tool": republish.__version__,
    }


def is_as_recorded(policy: Policy, releases: Sequence[Entry]) -> bool:
    """Whether this is the policy that the first release was made under."""
    if not releases:
        return True
    first = releases[0].payload
    return first["policy"] in policy.digests() and first["hierarchies"] == hierarchies_digest(policy.schema)


def require_as_recorded(policy: Policy, releases: Sequence[Entry]) -> None:
    """Refuse to go on where the policy is not the one that releases were made under."""
    if not is_as_recorded(policy, releases):
        raise PolicyError(
            f"the policy is frozen after the first release, and {FILE}, a hierarchy or the knowledge differs from what "
            "the ledger recorded; put it back. `republish amend` adds leaves to a hierarchy, and drops, renames or "
            "recodes columns of the source; for anything else start a new series and adopt the releases of this one"
        )


def require_another_release(policy: Policy, releases: Sequence[Entry], folder: Path) -> None:
    """Refuse a release after the first under a changed policy, or one that promises nothing over a series."""
    if not releases:
        return
    require_as_recorded(policy, releases)
    if not policy.publisher.series_promises and not policy.one_table:
        raise PolicyError(
            f"{policy.publisher.name} protects each release alone and promises nothing over a series; "
            f"{safer_publishers()}. To publish anyway, set one_table = true in {folder / FILE}"
        )


def safer_publishers() -> str:
    """Which publishers do promise something over a series, in words."""
    names = [name for name, kind in sorted(PUBLISHERS.items()) if kind.protects_series]
    return f"those that do: {', '.join(names)}" if names else "no publisher of this version does"
