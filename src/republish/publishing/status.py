"""Whether a series is as its schedule wants it: its last release young enough, in force, and as it was recorded.

Nothing is written and no lock is taken. Of files that are not of the last release only the size is looked at;
`Series.verify` recomputes everything.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from republish.series import Series


@dataclass(frozen=True)
class Status:
    """The last release of a series, its age in seconds since it was committed, and all that is not as it should be.

    `gate` is whether the last release passed the gate, `None` where there was none. `head` is the digest of the last
    entry of the ledger: noted elsewhere, it proves later that nobody rewrote the series.
    """

    releases: int
    release: int | None
    as_of: str | None
    recorded_at: str | None
    age: float | None
    max_age: float | None
    gate: bool | None
    head: str
    problems: tuple[str, ...]

    @property
    def fine(self) -> bool:
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """A JSON document."""
        return {"fine": self.fine, **asdict(self), "problems": list(self.problems)}


def status_of(series: Series, max_age: timedelta | None = None, now: datetime | None = None) -> Status:
    """How a series stands at a moment, which is now; the last release may be `max_age` old."""
    stored = series.snapshot()
    entries, records = stored.ledger.entries(), stored.records
    last = records[-1] if records else None
    age = None if last is None else _since(last.recorded_at, now or datetime.now(UTC))
    problems = []
    if last is None and max_age is not None:
        problems.append("nothing is published yet")
    if age is not None and max_age is not None and age > max_age:
        problems.append(f"the last release is {in_words(age)} old, and may be {in_words(max_age)}")
    if last is not None and last.release in entries.withdrawn:
        problems.append(f"release {last.release}, the last, is withdrawn, and nothing takes its place")
    recent = f"releases/{len(records):04d}/"
    unread = {name: found for name, found in entries.files.items() if not name.startswith(recent)}
    problems += [*series.ledger.check(measured=unread), *stored.policy_problems()]
    payload = {} if last is None else last.payload
    return Status(
        releases=len(records),
        release=None if last is None else last.release,
        as_of=payload.get("as_of"),
        recorded_at=None if last is None else last.recorded_at,
        age=None if age is None else age.total_seconds(),
        max_age=None if max_age is None else max_age.total_seconds(),
        gate=payload["gate"]["passed"] if "gate" in payload else None,
        head=entries[-1].digest,
        problems=tuple(problems),
    )


def in_words(span: timedelta) -> str:
    """A span of time by its two largest units: 8 d, 1 d 12 h, 5 min."""
    seconds = int(span.total_seconds())
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    parts = []
    for name, size in units:
        count, seconds = divmod(seconds, size)
        parts.append((count, name))
    first = next((i for i, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count} {name}" for count, name in parts[first : first + 2] if count) or "0 s"


def _since(recorded_at: str, now: datetime) -> timedelta:
    """How long ago that was; a clock that was set back does not make it the future."""
    return max(now - datetime.fromisoformat(recorded_at), timedelta(0))
