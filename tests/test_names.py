"""A function, a class or a module has a name that says what it returns, does or holds."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "certgrad"
NO_NAMES = {"asked", "found", "held", "known", "looked", "made", "one", "other", "said", "shown", "there", "told"}
"""Words that a whole name is not: each could stand for anything."""
NO_FILES = {"fails", "inside", "offered", "otherwise", "right_where", "second", "standing", "still", "telling", "ways"}
"""Further ones, of files."""


def definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The functions and classes of a module, inner ones too, and the types that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
            yield from ((statement.lineno, name) for name in names if name.strip("_").istitle())


def test_names_say_what_they_name() -> None:
    found = []
    for file in ROOT.rglob("*.py"):
        where = file.relative_to(ROOT)
        if file.stem.strip("_") in NO_NAMES | NO_FILES:
            found.append(str(where))
        names = definitions(ast.parse(file.read_text()))
        found += [f"{where}:{line}: {name}" for line, name in names if name.strip("_").lower() in NO_NAMES]
    assert found == []
