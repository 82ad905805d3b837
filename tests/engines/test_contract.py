"""The contract of engines, for one process and for parts made in this process."""

from __future__ import annotations

import pytest

from engines.contract import EngineContract
from republish.engines import Engine, Here


class TestOneProcess(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine | None:
        return None


class TestParts(EngineContract):
    @pytest.fixture
    def engine(self) -> Engine | None:
        return Here(parts=3)
