"""Objects of libraries, which are known by their name and the library's version.

The home of a module is "library" (its version or text is in every key), "python" (a part of Python's library that reads
nothing of the outside: files, clock, system), "outside" (a part that does), "installed" (of another installed package)
or "own" (the user's).
"""

from __future__ import annotations

import os
import sys
import types
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ._files import state_below

PURE = frozenset(
    "math cmath functools itertools operator collections dataclasses enum typing abc numbers fractions string re copy "
    "contextlib types warnings logging builtins _operator _functools _collections _abc _collections_abc __future__ "
    "typing_extensions copyreg".split()
)
"""Modules of Python that read nothing of the outside."""
LIBRARIES = frozenset("jax jaxlib numpy ml_dtypes opt_einsum scipy certgrad".split())
"""Packages whose version, or text, is in the key of every entry."""
_IMPURE = frozenset(
    "open input eval exec compile __import__ globals locals vars id getattr setattr delattr attrgetter methodcaller "
    "load loadtxt fromfile memmap genfromtxt".split()
)
"""Functions of Python, numpy and JAX that find code or data by a text, or read from the outside."""
_OFFERED = (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)


class UnknownError(Exception):
    """It cannot be told what a value would be in another process; the message says why."""


def library_name(value: Any, own: frozenset[str] = frozenset()) -> str | None:
    """Return the name under which a library offers a value; of an installed package not among `own` with its state.

    Return None for a value of no library, and for one that a library made for its caller, which has no name there.
    Raises UnknownError for parts of Python that read the outside world.
    """
    if isinstance(value, types.ModuleType):
        if home_of(value.__name__) == "outside":
            raise UnknownError(f"it reaches the module {value.__name__}")
        return None
    if not isinstance(value, _OFFERED) and not callable(value):
        return None
    if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, (types.ModuleType, type(None))):
        return None  # a method of an object
    module = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    home = home_of(module, own)
    if home == "own":
        return None
    if home == "outside" and isinstance(value, _OFFERED):
        raise UnknownError(f"it reaches {module}.{name}")
    if name in _IMPURE and (home == "python" or module.partition(".")[0] in ("numpy", "jax")):
        raise UnknownError(f"it reaches {name}")
    # The last part of a name counts too: `jax.Array` says that it is `jaxlib._jax.Array` of `jax`.
    last_part = name.rpartition(".")[2]
    offered = (
        isinstance(value, types.BuiltinFunctionType)
        or _is_static(value)
        or any(
            _value_at(module_name, attribute) is value
            for module_name in ((module, "scipy.special") if isinstance(value, np.ufunc) else (module,))
            for attribute in (name, last_part)
        )
    )
    return f"{module}.{name}{package_state(module) if home == 'installed' else ''}" if offered else None


_HEAP_TYPE = 1 << 9
"""CPython's flag of a class that was made while the program ran."""


def _is_static(value: Any) -> bool:
    """Return whether a class is compiled code, so that nobody can change it or make another of its name."""
    return isinstance(value, type) and not value.__flags__ & _HEAP_TYPE


@lru_cache(maxsize=4096)
def home_of(module: str, own: frozenset[str] = frozenset()) -> str:
    """Return the home of a module, as above; the packages in `own` are the user's."""
    top = module.partition(".")[0]
    if top in own:
        return "own"
    if module.startswith(("numpy.random", "scipy.io")):
        return "outside"
    if top in LIBRARIES:
        return "library"
    if top in PURE:
        return "python"
    if top in sys.stdlib_module_names:
        return "outside"
    # The package's file comes first: modules that it makes as it runs, such as `torch.ops`, have no file that exists.
    file = getattr(sys.modules.get(top) or sys.modules.get(module), "__file__", None) or ""
    return "installed" if f"{os.sep}site-packages{os.sep}" in file else "own"


def _value_at(module: str, name: str) -> Any:
    """Return the value of a dotted name in a loaded module; None where there is none."""
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


@lru_cache(maxsize=256)
def package_state(module: str) -> str:
    """Return a digest of names, sizes and times of the files of an installed package. Raises UnknownError."""
    return state_below(package_root(module))


def package_root(module: str) -> Path:
    """Return the folder of an installed package, or the file of a single-file one. Raises UnknownError if unknown."""
    top = module.partition(".")[0]
    file = getattr(sys.modules.get(top) or sys.modules.get(module), "__file__", None)
    if file is None:
        raise UnknownError(f"nobody knows where {top} is installed")
    return Path(file).parent if Path(file).name.startswith("__init__.") else Path(file)
