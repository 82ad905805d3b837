"""Generators of changing tables to try the tool on: a hospital series and a census series."""

from __future__ import annotations

from republish.datasets.census import PRESETS, CensusSeries, census
from republish.datasets.hospital import HospitalSeries, hospital

__all__ = ["PRESETS", "CensusSeries", "HospitalSeries", "census", "hospital"]
