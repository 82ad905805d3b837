"""Making the folder of a new series: policy, secret and ledger, all of them or none."""

from __future__ import annotations

import os
from pathlib import Path

import republish
from republish.ledger import Ledger
from republish.ledger.files import Layout, new_folder, take_back, writing
from republish.microdata import NEWEST_ROWS
from republish.policy import Policy
from republish.secret import VARIABLE, Secret, write_secret


def create_folder(root: Path, policy: Policy) -> Ledger:
    """Make a series of this policy in a folder that is new or empty, and return its ledger.

    The folder is built aside and gets its name in one step, so that whoever is interrupted leaves none, and of two who
    make it at once one is told. What lies elsewhere, in a store or a database, is made after it.

    Raises:
        LedgerError: the folder holds something, or cannot be written; then no series was made.
        PolicyError: the parameters of the publisher do not fit the columns of the schema.
    """
    policy.publisher.require_fit(policy.schema)
    elsewhere = policy.ledger is not None or policy.store is not None
    with (
        writing(f"the series could not be made at {root}", "no series was made"),
        new_folder(root) as aside,
    ):
        first = _write(aside, policy)
        if not elsewhere:
            Ledger.create(aside, first).close()
    if not elsewhere:
        return Ledger.open(root)
    made = [root, *root.rglob("*"), *Layout(root).own()]
    try:
        return Ledger.create(root, first, policy.ledger, policy.store)
    except BaseException:
        take_back(made)
        raise


def _write(folder: Path, policy: Policy) -> dict[str, object]:
    """Write policy and secret; return what the first entry of the ledger says of them."""
    private = folder / "private"
    private.mkdir(mode=0o700)
    file = private / "secret.key"
    secret = Secret.load(file) if os.environ.get(VARIABLE) else write_secret(file)
    policy.write(folder)
    return {
        "seed": policy.seed,
        "secret": secret.fingerprint(),
        "policy": policy.digest(),
        "promises": policy.promises,
        "row_digests": NEWEST_ROWS,
        "tool": republish.__version__,
        # Where presence is public, k=1 publishes exact numbers, and the outermost are no secret.
        **({} if policy.form is None or policy.form.k == 1 else {"open_ends": True}),
    }
