"""The names in code, by which it reaches other code and data."""

from __future__ import annotations

import dis
import importlib.util
import sys
import types
from collections.abc import Iterator
from itertools import takewhile

from ._homes import UnknownError

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


class Named:
    """The names in code and in the functions inside it: globals, attributes, and imported modules."""

    def __init__(self, code: types.CodeType) -> None:
        self.globals: set[str] = set()
        self.bare: set[str] = set()
        """Globals that are used as values, and not only to read an attribute of them."""
        self.chains: dict[str, set[tuple[str, ...]]] = {}
        """By global, its chains of attributes: ("a", "b") for `global.a.b`."""
        self.attributes: set[str] = set()
        self._imports: list[tuple[str, int, tuple[str, ...]]] = []
        for part in each_code(code):
            self._read(part)

    def _read(self, code: types.CodeType) -> None:
        """Add the names in the instructions of one code object."""
        steps = [s for s in dis.get_instructions(code) if s.opname != "EXTENDED_ARG"]
        for k, step in enumerate(steps):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
                self.globals.add(step.argval)
                chain = tuple(s.argval for s in takewhile(lambda s: s.opname in _ATTRIBUTES, steps[k + 1 :]))
                if chain:
                    self.chains.setdefault(step.argval, set()).add(chain)
                else:
                    self.bare.add(step.argval)
            elif step.opname in _ATTRIBUTES or step.opname == "IMPORT_FROM":
                self.attributes.add(step.argval)
            elif step.opname == "IMPORT_NAME":
                level, names = (s.argval for s in steps[k - 2 : k])
                taken = names if isinstance(names, tuple) else ()
                if not taken and steps[k + 1].opname != "IMPORT_FROM":  # `import a.b` binds `a`
                    self._imports.append((step.argval.partition(".")[0], 0, ()))
                self._imports.append((step.argval, level if isinstance(level, int) else 0, taken))

    def imported(self, function: types.FunctionType) -> Iterator[tuple[types.ModuleType, tuple[str, ...]]]:
        """Yield the modules that a function's code imports, each with the names that it imports from the module.

        Without names the module itself is used. Raises UnknownError for a module that does not exist, or is not loaded.
        """
        for name, level, taken in self._imports:
            package = function.__globals__.get("__package__") or ""
            try:
                full = importlib.util.resolve_name("." * level + name, package) if level else name
            except ImportError:
                raise UnknownError(f"{function.__name__} imports {name}, which leads nowhere") from None
            module = sys.modules.get(full)
            if module is None:
                raise UnknownError(f"{function.__name__} imports {full}, which it has not done yet")
            yield module, taken


def each_code(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object, and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from each_code(constant)
