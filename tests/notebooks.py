"""The notebooks of docs/notebooks/: each is a Python file with cells, run, and kept with what it printed as `.ipynb`.

`python -m tests.notebooks` writes them anew.
"""

import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs/notebooks"
NAMES = sorted(file.stem for file in FOLDER.glob("*.py"))


def executed(name: str) -> Any:
    """The notebook of a source, run from beginning to end."""
    import jupytext
    from nbclient import NotebookClient

    notebook = jupytext.read(FOLDER / f"{name}.py")
    os.environ.update({"JAX_PLATFORMS": "cpu", "COLUMNS": "100", "PYTHONPATH": str(FOLDER.parents[1])})
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(FOLDER))
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for k, cell in enumerate(notebook.cells):
        cell.id = f"cell-{k}"
        cell.metadata = {}
    return notebook


def outputs(cell: Any) -> str:
    """What a cell printed, as text."""
    return "".join(one.get("text", "") for one in cell.get("outputs", []) if one["output_type"] == "stream")


def main() -> None:
    """Write the notebooks."""
    import nbformat

    for name in NAMES:
        nbformat.write(executed(name), FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    main()
