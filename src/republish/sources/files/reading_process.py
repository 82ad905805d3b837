"""Run as a program of its own: reads a file of a statistical package and writes the table to standard output.

The library is in C, and a damaged file can end the process that reads it; so that is not the one that asked. It imports
nothing of republish, to start at once.
"""

from __future__ import annotations

import io
import json
import sys


def main(reader: str, path: str, names_only: str) -> None:
    """Write one line of JSON, names, number of rows and labels, and the table as an Arrow file after it."""
    import pyreadstat

    only = names_only == "yes"
    frame, about = getattr(pyreadstat, reader)(path, output_format="polars", metadataonly=only)
    labels = {name: list(meant.items()) for name, meant in about.variable_value_labels.items()}
    told = {"names": list(about.column_names), "rows": about.number_rows or 0, "labels": labels}
    table = io.BytesIO()
    if not only:
        frame.write_ipc(table)
    sys.stdout.buffer.write(json.dumps(told, default=str).encode() + b"\n" + table.getvalue())


if __name__ == "__main__":
    main(*sys.argv[1:])
