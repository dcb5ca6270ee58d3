"""What statements at import time read of the outside: the system, the environment, files, the clock.

A call of what tells of the outside is an effect already (`_effects.py`). Left are names that are only looked at:
`os.environ[...]`, `sys.argv`, `from sys import platform`.
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
    """Return what an import brings from outside that its later uses do not show: values, and names of unknown meaning.

    `known` says of a name whether its meaning is known; None where it has none.
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
        kept = isinstance(node, ast.Import) or isinstance(value, (ModuleType, *_KINDS))
        if known(bound) is False or (known(bound) and not kept):
            return f"it reads {module}"
    return ""


def tells(value: Any) -> str:
    """The module of the outside that a value is, or is of; empty for all others, and for kinds of errors."""
    if isinstance(value, type) and issubclass(value, BaseException):
        return ""
    kind = value if isinstance(value, _KINDS) else type(value)
    module = value.__name__ if isinstance(value, ModuleType) else getattr(kind, "__module__", None)
    if not isinstance(module, str) or home_of(module) != "outside" or is_listed(value):
        return ""
    return module
