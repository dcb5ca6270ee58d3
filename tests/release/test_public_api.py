"""The names that others may rely on, with their signatures: a change of them is seen, and named in the changelog."""

import importlib
import inspect
import os
import re
from pathlib import Path
from typing import Any

import certgrad

_GOLDEN = Path(__file__).parent / "golden/public_api.txt"
_MODULES = ("certgrad", "certgrad.testing", "certgrad.graph", "certgrad.accel", "certgrad.exports", "certgrad.training")


def test_the_public_names_and_their_signatures() -> None:
    text = "\n".join(line for module in _MODULES for line in _of(module)) + "\n"
    if os.environ.get("CERTGRAD_UPDATE_GOLDEN") == "1":
        _GOLDEN.write_text(text, encoding="utf-8")
    assert text == _GOLDEN.read_text(encoding="utf-8")


def test_every_public_name_has_a_docstring() -> None:
    for module in _MODULES:
        held = importlib.import_module(module)
        for name in _names(held):
            value = getattr(held, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                assert inspect.getdoc(value), f"{module}.{name}"


def test_names_that_load_on_first_use_are_those_of_all() -> None:
    assert sorted(set(certgrad.__all__) - {"__version__"}) == sorted(certgrad._PUBLIC)


def _names(module: Any) -> list[str]:
    """What `__all__` lists, or else what is defined there."""
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__ and n[0] != "_"]
    return list(getattr(module, "__all__", sorted(own)))


def _of(module: str) -> list[str]:
    held = importlib.import_module(module)
    lines = [f"# {module}"]
    for name in _names(held):
        value = getattr(held, name)
        if inspect.isclass(value):
            fields = [n for n in vars(value) if not n.startswith("_")]
            lines.append(f"class {name}: {', '.join(sorted(fields))}".rstrip(": "))
        elif inspect.isfunction(value):
            lines.append(f"def {name}{_signature(value)}")
        else:
            lines.append(f"{name}: {type(value).__name__}")
    return [*lines, ""]


def _signature(function: Any) -> str:
    """The parameters with their kinds and defaults; annotations, which differ between Pythons, are mypy's."""
    signature = inspect.signature(function)
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"<(\S+) object at 0x\w+>", r"<\1>", text)
