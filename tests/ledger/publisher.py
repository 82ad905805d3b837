"""A publisher small enough to be killed: writes one release, or forgets, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from republish.errors import LedgerError
from republish.ledger import Entry, Ledger, backup


def write_release(ledger: Ledger, text: str = "table") -> Entry:
    """Commit the next release; the caller holds the lock."""
    head = ledger.head
    number = len(ledger.releases()) + 1
    with ledger.stage(number) as draft:
        (draft.folder / "table.csv").write_text(f"{text} {number}\n")
        (draft.folder / "about.json").write_text("{}")
        memory = draft.private_file("memory")
        memory.write_text(f"memory {number}")
        draft.private_file("membership").write_text(f"membership {number}")
        return ledger.commit(draft, "release", {"rows": 10, "memory": draft.name(memory)}, head)


def publish(root: Path, text: str = "table") -> Entry:
    with Ledger.open(root) as ledger, ledger.lock("publish"):
        return write_release(ledger, text)


def forget(root: Path) -> Entry:
    """Rewrite the memory of the last release and erase the old one."""
    with Ledger.open(root) as ledger, ledger.lock("forget"):
        old = ledger.releases()[-1].payload["memory"]
        with ledger.stage() as draft:
            path = draft.private_file("memory", release=len(ledger.releases()))
            path.write_text("memory without one person")
            return ledger.commit(draft, "forget", {"people": 1, "erased": [old]}, ledger.head)


def run(root: Path, action: str, fault: str = "") -> subprocess.CompletedProcess[str]:
    """The same in a child, killed at the named point."""
    environment = {**os.environ, "REPUBLISH_FAULT": fault}
    command = [sys.executable, "-W", "error", __file__, str(root), action]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def main() -> int:
    root, action = Path(sys.argv[1]), sys.argv[2]
    try:
        if action == "create":
            Ledger.create(root, {"publisher": "none"}).close()
        elif action == "publish":
            publish(root)
        elif action == "forget":
            forget(root)
        elif action == "backup":
            backup(root, root.parent / "backup.tar")
        elif action == "hold":
            with Ledger.open(root) as ledger, ledger.lock("publish weekly"):
                print("held", flush=True)
                sys.stdin.read()
        elif action == "race":
            with Ledger.open(root) as ledger:
                head = ledger.head
                print("ready", flush=True)
                sys.stdin.readline()
                with ledger.stage(1) as draft:
                    (draft.folder / "table.csv").write_text(str(os.getpid()))
                    ledger.commit(draft, "release", {}, head)
        return 0
    except LedgerError as error:
        print(error)
        return 2


if __name__ == "__main__":
    sys.exit(main())
