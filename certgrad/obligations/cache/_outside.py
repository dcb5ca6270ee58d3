"""What statements at import time read of the outside: the system, the environment, files, the clock.

A call of a function that reads the outside counts as an effect already (`_effects.py`). Here are names that code only
reads: `os.environ[...]`, `sys.argv`, `from sys import platform`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ._harmless import is_listed
from ._homes import home_of

_KINDS = (type, BuiltinFunctionType, FunctionType)


def import_reads(node: ast.Import | ast.ImportFrom, known: Callable[[str], bool | None]) -> str:
    """Return what an import reads of the outside that later uses of its names do not show, in words; "" for nothing.

    That are values (`from sys import platform`), and names whose meaning is not known. `known` says of a name whether
    its meaning is known; None for a name that does not exist after the import.
    """
    if isinstance(node, ast.ImportFrom) and node.level:
        return ""
    for alias in node.names:
        module = alias.name if isinstance(node, ast.Import) else node.module or ""
        if home_of(module) != "outside" or module not in sys.modules:
            continue
        bound = alias.asname or alias.name.partition(".")[0]
        value = None if isinstance(node, ast.Import) else getattr(sys.modules[module], alias.name, None)
        if is_listed(value):
            continue
        seen_in_use = isinstance(node, ast.Import) or isinstance(value, (ModuleType, *_KINDS))
        if known(bound) is False or (known(bound) and not seen_in_use):
            return f"it reads {module}"
    return ""


def tells(value: Any) -> str:
    """Return the name of the outside module that a value is, or belongs to; "" for other values, and for exceptions."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return ""
    kind = value if isinstance(value, _KINDS) else type(value)
    module = value.__name__ if isinstance(value, ModuleType) else getattr(kind, "__module__", None)
    if not isinstance(module, str) or home_of(module) != "outside" or is_listed(value):
        return ""
    return module
