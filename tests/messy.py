"""Files as people have them: a German export in Windows-1252, with commas, points, dots and codes of its own."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np

HEADINGS = (
    "Versicherten-Nr",
    "Größe",
    "Einkommen",
    "Geburtstag",
    "PLZ",
    "Straßenbahn",
    "Fahrten",
    "Diagnose",
)
ILLNESSES = ("Grippe", "Asthma", "Gicht", "Röteln", "Krätze", "Diabetes")


def german(number: float, decimals: int) -> str:
    """1234.5 as 1.234,50."""
    return f"{number:,.{decimals}f}".translate(str.maketrans(",.", ".,"))


def german_view(path: Path, week: int = 1, rows: int = 240, encoding: str = "cp1252") -> Path:
    """Write the view of a week: of every ten people one has left, and one has come."""
    lines = [";".join(HEADINGS)]
    for person in range(week * rows // 10, week * rows // 10 + rows):
        draw = np.random.default_rng(person)
        income = "k.A." if person % 17 == 0 else german(900 + draw.random() * 4000, 2)
        born = date(1940, 1, 1) + timedelta(days=int(draw.integers(0, 25_000)))
        rides = "-9" if person % 11 == 0 else str(draw.integers(0, 60))
        place = ("01067", "01069", "04109", "80331", "99084")[draw.integers(0, 5)]
        tram = ("ja", "nein")[draw.integers(0, 2)] if person % 13 else "NA"
        size = german(1.5 + draw.random() / 2, 2)
        illness = ILLNESSES[draw.integers(0, len(ILLNESSES))]
        cells = (f"V{person:05d}", size, income, born.strftime("%d.%m.%Y"), place, tram, rides, illness)
        lines.append(";".join(cells))
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return path
