"""The tutorial notebook, run from top to bottom in a kernel of this environment."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.pages import tool

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.ipynb"


def cells(notebook: Any, kind: str) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def html(notebook: Any) -> list[str]:
    return [
        output["data"]["text/html"]
        for cell in cells(notebook, "code")
        for output in cell.outputs
        if "text/html" in output.get("data", {})
    ]


def _determined(shown: list[str], attack: str) -> int:
    """How many people an attack determined in all releases together."""
    (part,) = [part for part in shown if f"Attack: {attack}<" in part]
    found = re.findall(r"<td[^>]*>([^<]*)</td>", part)
    assert found[0] == "all"
    return int(found[2])


def _alike(shown: str) -> str:
    """What a cell shows without pictures and numbers, which differ from run to run and from machine to machine."""
    return re.sub(r"[\d,.]*\d", "0", re.sub(r'src="[^"]*"', "", shown))


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel that runs this very Python, whatever kernels the machine has; its files go to a folder of its own."""
    from ipykernel.kernelspec import write_kernel_spec

    spec = tmp_path / "jupyter" / "kernels" / "here"
    write_kernel_spec(str(spec))
    text = (spec / "kernel.json").read_text(encoding="utf-8")
    assert sys.executable in text
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return "here"


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(TUTORIAL, as_version=4)
    nbformat.validate(notebook)
    for cell in cells(notebook, "code"):
        assert cell.outputs == []
        assert cell.execution_count is None


@pytest.mark.filterwarnings("ignore")  # of the kernel's own libraries
def test_it_runs_from_top_to_bottom_and_shows_tables_and_pictures(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tool("make_tutorial")
    monkeypatch.setenv("REPUBLISH_SECRET", made.SECRET)
    notebook = nbformat.read(TUTORIAL, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("_ = Path('seen.csv').write_text(views[0].read_text())"))
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name=kernel, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    stored = json.loads(made.OUTPUTS.read_text(encoding="utf-8"))
    assert list(map(_alike, made.shown(notebook)[:-1])) == list(map(_alike, stored)), (
        "run python docs/make_tutorial.py"
    )
    shown = html(notebook)
    assert len(shown) == 8  # published, series, release, two attacks, two beliefs, the table at the end
    assert sum("data:image/png" in part for part in shown) == 6
    assert "Attack: linear" in "".join(shown)
    identifier = re.compile(r"H\d{7}")
    assert identifier.search((tmp_path / "seen.csv").read_text(encoding="utf-8"))
    assert not any(identifier.search(re.sub(r'src="[^"]*"', "", part)) for part in shown)
    assert _determined(shown, "tau") == 0
    assert _determined(shown, "linear") > 0
    last = cells(notebook, "code")[-2].outputs[0]["data"]["text/plain"]
    assert last == "[('weekly', True), ('careful', True)]"
