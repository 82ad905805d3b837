"""What people say of a series in its disclosure report, as options of `init` and `report`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from republish.cli.options import option


@dataclass(frozen=True)
class ReportFieldOptions:
    """Who publishes to whom, for what, and who answers for it; [report] of series.toml keeps it."""

    title: str | None = option(None, "Report: title of the series; else the name of its folder.")
    purpose: str | None = option(None, "Report: what the data are published for.")
    recipients: str | None = option(None, "Report: who gets the releases.")
    legal_basis: str | None = option(None, "Report: the law, contract or consent that allows it.")
    decided_by: str | None = option(None, "Report: who decided to publish.")
    signed_by: str | None = option(None, "Report: who signs.")
    contact: str | None = option(None, "Report: whom to ask.")

    def given(self) -> dict[str, str]:
        """What was said."""
        return {name: text for name, text in asdict(self).items() if text is not None}
