"""All entries of a series as of one moment, and what they say of its files, found once however often it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from republish.errors import LedgerError
from republish.ledger.chain import WITH_RELEASE, Entry


def named_files(entries: Iterable[Entry]) -> tuple[dict[str, dict[str, object]], set[str]]:
    """The files that must exist, with digest and size, and the names of those that must not any more."""
    live: dict[str, dict[str, object]] = {}
    erased: set[str] = set()
    for entry in entries:
        live.update(entry.payload.get("files", {}))
        erased.update(entry.payload.get("erased", ()))
    return {name: found for name, found in live.items() if name not in erased}, erased


class LedgerEntries(tuple[Entry, ...]):
    """Everything that happened to a series up to one moment, oldest first."""

    @cached_property
    def releases(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self if entry.kind in WITH_RELEASE)

    @cached_property
    def adopted(self) -> int:
        """How many releases another tool made; they come before all others."""
        return sum(entry.adopted for entry in self.releases)

    def record(self, number: int) -> Entry:
        if not 1 <= number <= len(self.releases):
            raise LedgerError(f"there is no release {number}; the series has {len(self.releases)}")
        return self.releases[number - 1]

    @cached_property
    def by_release(self) -> dict[int, Entry]:
        return {entry.release: entry for entry in reversed(self.releases) if entry.release is not None}

    @cached_property
    def files(self) -> dict[str, dict[str, object]]:
        return named_files(self)[0]

    @cached_property
    def withdrawn(self) -> frozenset[int]:
        """The releases that were withdrawn, by a command or by the release that corrects them."""
        marked = (entry.release for entry in self if entry.kind == "withdraw" and entry.release)
        return frozenset((*marked, *self.corrections.values()))

    @cached_property
    def corrections(self) -> dict[int, int]:
        """The release that each correcting release takes the place of."""
        told = ((entry.release or 0, entry.payload.get("corrects")) for entry in self.releases)
        return {number: corrects["release"] for number, corrects in told if corrects}

    @cached_property
    def hierarchies(self) -> dict[str, str]:
        """The newest file of every hierarchy that was amended, by its column."""
        amended = (entry.payload for entry in self if entry.kind == "amend")
        return {payload["column"]: payload["hierarchy"] for payload in amended if "hierarchy" in payload}

    @cached_property
    def schema_changes(self) -> tuple[dict[str, Any], ...]:
        """What was amended of how views are read, oldest first."""
        amended = (entry.payload for entry in self if entry.kind == "amend")
        return tuple(change for payload in amended for change in payload.get("changes", ()))

    @cached_property
    def gates(self) -> tuple[Entry, ...]:
        """Every amendment of the gate, oldest first; `payload["gate"]` is what it is from then on."""
        return tuple(entry for entry in self if entry.kind == "amend" and "gate" in entry.payload)

    @cached_property
    def memory_files(self) -> dict[str, int]:
        """The files that make up the memory, oldest first, with the number of entries in each."""
        newest = self._newest("memory")
        return dict(zip(newest["memory"], newest["memory_rows"], strict=True)) if newest else {}

    @property
    def counts_file(self) -> str | None:
        """The file of what was counted over the whole series, where something was and nothing dropped it."""
        return self._newest("counts").get("counts")

    @property
    def cuts_file(self) -> str | None:
        """The file of the kept cuts that cells of people are made by, where there are any."""
        return self._newest("cuts").get("cuts")

    @property
    def margins_file(self) -> str | None:
        """The file of what the next view is compared with; none before a release of a version that keeps it."""
        return self._newest("margins").get("margins")

    def membership_files(self, number: int) -> list[str]:
        """The newest files that hold the membership of a release, in their order; later entries may name new ones."""
        found: str | list[str] = self.record(number).payload["membership"]
        found = self._memberships.get(str(number), found)
        return [found] if isinstance(found, str) else found

    def compromised_file(self, number: int) -> str | None:
        """The newest file of what outsiders know of people in a release, where there is one."""
        return self._of_people(number, "compromised")

    def possible_file(self, number: int) -> str | None:
        """The newest file of which values the people in a release may have, where that was given."""
        return self._of_people(number, "possible")

    @cached_property
    def _memberships(self) -> dict[str, str | list[str]]:
        later = (entry.payload.get("memberships", {}) for entry in self)
        return {number: files for named in later for number, files in named.items()}

    def _of_people(self, number: int, kind: str) -> str | None:
        """The newest file of one kind about single people of a release: people who were forgotten are not in it."""
        later = (entry.payload.get(kind, {}) for entry in reversed(self) if entry.kind == "forget")
        found: str | None = next((files[str(number)] for files in later if str(number) in files), None)
        return found or self.record(number).payload.get(kind)

    def _newest(self, key: str) -> dict[str, Any]:
        return next((entry.payload for entry in reversed(self) if key in entry.payload), {})
