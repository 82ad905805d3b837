"""What of a series may be changed while it goes on: its gate, what its report says, and which releases hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from republish.web import DeskError
from republish.web.jobs.interrupted import require_unlocked
from republish.web.jobs.jobs import DONE
from republish.web.request_models import RECOMMENDED
from republish.web.series_desk import SeriesDesk
from republish.web.uploads.columns import legible

if TYPE_CHECKING:
    from pathlib import Path


class AmendingDesk(SeriesDesk):
    """Each change is a line of the audit log; one of the gate is an entry of the ledger too."""

    def amend_gate(
        self, name: str, settings: str, reason: str = "", views: Sequence[Path] = ()
    ) -> tuple[str, ...]:
        """Change the gate for releases to come, as `republish amend --gate` does; return what became of it.

        `settings` are NAME=VALUE by commas, "none", or "recommended", which is tried on the releases so far and on
        `views`. To loosen needs a reason.
        """
        from republish.gate.run import broken_already
        from republish.publishing.maintenance import amend_gate
        from republish.tune.recommended_gate import recommended_gate

        with self.opened(name) as series:
            require_unlocked(series)
            with legible():
                gate = recommended_gate(series, views) if settings == RECOMMENDED else settings
            made = amend_gate(series, gate, reason)
            found = (made.sentence(), *broken_already(series))
        self.note(name, "amend", DONE, what="gate", loosened=list(made.loosened) or None)
        return found

    def withdraw(self, name: str, number: int, reason: str) -> None:
        """Mark a release as withdrawn, as `republish withdraw` does; it still counts, for others may have it."""
        from republish.publishing.maintenance import withdraw

        if not reason.strip():
            raise DeskError("a withdrawn release needs a reason for the record; give a reason")
        self.one_release(name, number)  # or there is none of that number
        with self.opened(name) as series:
            require_unlocked(series)
            withdraw(series, number, reason.strip())
        self.note(name, "withdraw", DONE, release=number)

    def amend_report(self, name: str, fields: Mapping[str, str]) -> dict[str, str]:
        """Write what the report says of the series: title, purpose and so on; return it."""
        from republish.publishing.report_record import amend_report

        with self.opened(name) as series:
            require_unlocked(series)
            said = amend_report(series, fields)
        self.note(name, "amend", DONE, what="report", fields=len(said))
        return said
