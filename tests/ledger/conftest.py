from __future__ import annotations

from pathlib import Path

import pytest

from republish.ledger import Ledger


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a new series without a release."""
    folder = tmp_path / "series"
    Ledger.create(folder, {"publisher": "none"}).close()
    (folder / "series.toml").write_text("seed = 7\n")
    secret = folder / "private" / "secret.key"
    secret.write_bytes(b"s" * 32)
    secret.chmod(0o600)
    return folder
