"""Write docs/site/tutorial-outputs.json, what the cells of the tutorial show: `python docs/make_tutorial.py`.

The site is built without the product, so it cannot run the notebook. A test runs it and compares.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

NOTEBOOK = Path(__file__).with_name("tutorial.ipynb")
OUTPUTS = Path(__file__).with_name("site") / "tutorial-outputs.json"
SECRET = "5e" * 32  # of the made-up series, so that every run shows the same


def shown(notebook: Any) -> list[str]:
    """What each cell of code shows, as HTML or as text; empty where it shows nothing."""
    return [_shown(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def _shown(outputs: list[Any]) -> str:
    parts = [output["data"] for output in outputs if "data" in output]
    return "\n".join(part.get("text/html") or part["text/plain"] for part in parts)


def run(kernel: str = "python3") -> Any:
    """The notebook, run from top to bottom in a folder of its own."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=300, kernel_name=kernel, resources=resources).execute()
    return notebook


if __name__ == "__main__":
    os.environ["REPUBLISH_SECRET"] = SECRET
    OUTPUTS.write_text(json.dumps(shown(run()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
