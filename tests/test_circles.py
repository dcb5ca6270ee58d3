"""No package of certgrad imports one that imports it: what loads a module at once goes one way."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1] / "certgrad"
KERNEL = "obligations"
"""Its floors count as packages."""


def package(module: str) -> str:
    """The package of a module, without `certgrad`: a floor for the kernel's; an empty text for what has none."""
    parts = module.split(".")[1:]
    if parts[:1] == [KERNEL]:
        return ".".join(parts[:2])
    return parts[0] if parts else ""


def at_once(body: list[ast.stmt]) -> list[ast.ImportFrom]:
    """Imports that run when the module loads."""
    found = []
    for one in body:
        if isinstance(one, ast.ImportFrom):
            found.append(one)
        elif isinstance(one, ast.If) and "TYPE_CHECKING" not in ast.unparse(one.test):
            found += at_once(one.body) + at_once(one.orelse)
        elif isinstance(one, ast.Try):
            found += at_once(one.body)
    return found


def imported(file: Path, one: ast.ImportFrom) -> list[str]:
    inside = ["certgrad", *file.relative_to(ROOT).parent.parts]
    start = inside[: len(inside) - one.level + 1] if one.level else []
    module = ".".join([*start, *([one.module] if one.module else [])])
    if module.split(".")[0] != "certgrad":
        return []
    return [f"{module}.{a.name}" for a in one.names] if module in ("certgrad", f"certgrad.{KERNEL}") else [module]


def test_no_package_imports_what_imports_it() -> None:
    graph: dict[str, set[str]] = {}
    for file in ROOT.rglob("*.py"):
        parts = file.relative_to(ROOT).with_suffix("").parts
        here = package(".".join(("certgrad", *(parts[:-1] if parts[-1] == "__init__" else parts))))
        there = {package(name) for one in at_once(ast.parse(file.read_text()).body) for name in imported(file, one)}
        graph.setdefault(here, set()).update(there - {here})
    assert len(graph) > 30
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle
