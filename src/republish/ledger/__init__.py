"""Where releases, memory and records live; one transaction a release."""

from republish.ledger.archive import backup, restore
from republish.ledger.chain import Entry
from republish.ledger.draft import Draft
from republish.ledger.ledger import Ledger

__all__ = ["Draft", "Entry", "Ledger", "backup", "restore"]
