"""Functions and classes of libraries that change nothing but their arguments."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

_WRAPPERS = {
    "jax": "jit custom_vjp custom_jvp custom_gradient checkpoint remat vmap pmap grad value_and_grad jacfwd jacrev "
    "hessian named_call",
    "functools": "partial partialmethod wraps lru_cache cache cached_property singledispatch total_ordering",
    "dataclasses": "dataclass field",
    "contextlib": "contextmanager",
    "builtins": "property staticmethod classmethod",
    "abc": "abstractmethod",
    "enum": "unique",
    "certgrad": "declare each real solves",
    "typing": "cast final overload runtime_checkable no_type_check",
}
"""By module, functions and classes that make an object of a function, and do not call it."""
_DECORATORS = {"functools": "wraps", "certgrad": "declare solves"}
"""Those of `_WRAPPERS` that return a decorator, which does not call a function either."""
_PURE = {
    "builtins": "abs all any bool bytes callable chr complex dict divmod enumerate float format frozenset getattr "
    "hasattr hash int isinstance issubclass iter len list map filter max min next object ord pow range repr reversed "
    "round set slice sorted str sum super tuple zip",
    "logging": "getLogger NullHandler",
    "importlib.metadata": "version",
    "warnings": "warn",
    "contextlib": "suppress",
    "pathlib": "Path",
    "inspect": "signature",
    "jax": "eval_shape jvp vjp linearize typeof tree_map",
}
"""By module, functions and classes that change nothing, but for what functions do that they are given and call."""
_PURE_MODULES = tuple(
    "math cmath operator _operator itertools functools _functools typing typing_extensions collections _collections "
    "dataclasses enum re string fractions "
    "numbers types copy textwrap numpy ml_dtypes jax.numpy jax.lax jax.nn jax.scipy jax.random jax.tree jax.tree_util "
    "jax._src.numpy jax._src.lax jax._src.nn jax._src.scipy jax._src.random jax._src.tree jax._src.tree_util "
    "jax._src.dtypes jax.dtypes jax._src.flatten_util".split()
)
"""Modules whose functions and classes are as those in `_PURE`, but for names in `_SETTINGS`."""
_SETTINGS = tuple("set regist save load from mem print defjvp standard_ open genfromtxt DataSource".split())
"""Beginnings of names of functions with effects: they change settings, print, or read or write files."""
REGISTERED = frozenset("register_pytree_node register_pytree_node_class register_dataclass register_static".split())
"""Functions of `jax.tree_util` that register something for a class, which is read with the class."""
_KEEPERS = frozenset("jaxtyping beartype typeguard equinox flax chex".split())
"""Packages whose decorators and base classes store what they are given only in the function or class itself."""
DEFINE_RULES = frozenset("defvjp defjvp defjvps def_vmap def_fwd def_bwd".split())
"""Methods that give a rule its functions, without a call of them."""
TAKES_FUNCTIONS = DEFINE_RULES | frozenset("setter getter deleter".split())
"""Methods that give a function to another object, and call neither."""
METHODS = TAKES_FUNCTIONS | frozenset(
    "astype reshape sum mean max min tolist item copy transpose ravel flatten dot "
    "format join split strip replace startswith endswith items keys values get addHandler".split()
)
"""Methods of rules, numbers, arrays, texts and tables that change nothing but the object itself."""
_CALLERS = frozenset(
    "map filter sorted max min vectorize piecewise apply_along_axis apply_over_axes fromfunction frompyfunc reduce "
    "reduce_window eval_shape jvp vjp linearize tree_map".split()
)
_CALLING_MODULES = (
    "functools _functools itertools operator _operator jax._src.lax.control_flow jax._src.tree jax.tree".split()
)
"""Functions (`_CALLERS`), and modules of functions, that call the functions that they are given."""
FUNCTION_ATTRIBUTES = ("__wrapped__", "fun", "fwd", "bwd", "jvp")
"""Attributes in which JAX's function objects keep functions of the project."""


def keeps(value: Any) -> bool:
    """Return whether a value is a decorator that wraps a function or a class without calling it."""
    return _in_table(value, _WRAPPERS) or (callable(value) and is_keeper(value))


def decorates(value: Any) -> bool:
    """Return whether a value returns a decorator, and neither of the two calls a function that it is given."""
    return _in_table(value, _DECORATORS)


def _in_table(value: Any, table: Mapping[str, str]) -> bool:
    """Return whether a value is the object of one of the names in a table, which lists them by module."""
    named = [(sys.modules.get(module), name) for module, names in table.items() for name in names.split()]
    return value is not None and any(value is getattr(module, name, None) for module, name in named)


def is_keeper(value: Any) -> bool:
    """Return whether a value is of a package in `_KEEPERS`, and its name is not one of a setting."""
    listed = str(getattr(value, "__module__", "")).partition(".")[0] in _KEEPERS
    return listed and not str(getattr(value, "__name__", "")).startswith(_SETTINGS)


def calls(value: Any) -> bool:
    """Return whether a function calls functions among its arguments, by its name or module."""
    module = str(getattr(value, "__module__", None) or type(value).__module__)
    return module.startswith(tuple(_CALLING_MODULES)) or getattr(value, "__name__", "") in _CALLERS


def is_listed(value: Any) -> bool:
    """Return whether a value is listed in `_PURE`: it changes nothing, and reads nothing but versions of packages."""
    return _in_table(value, _PURE)


def is_pure(value: Any) -> bool:
    """Return whether a function or class of a library changes nothing, but for the arguments that it calls."""
    if is_listed(value) or (isinstance(value, type) and issubclass(value, BaseException)):
        return True
    kind = value if hasattr(value, "__module__") and value.__module__ else type(value)
    module, name = str(kind.__module__), str(getattr(value, "__name__", ""))
    in_module = any(module == m or module.startswith(f"{m}.") for m in _PURE_MODULES)
    written = isinstance(value, FunctionType | BuiltinFunctionType | type)  # and no object that holds a function
    offered = written or getattr(sys.modules.get(module), name, None) is value or isinstance(value, np.ufunc)
    return in_module and offered and not module.startswith("numpy.random") and not name.startswith(_SETTINGS)


def is_super_call(node: ast.Attribute) -> bool:
    """Return whether an attribute is one of `super()`, as `super().__init__`, which is read with the class."""
    of = node.value.func if isinstance(node.value, ast.Call) else None
    return isinstance(of, ast.Name) and of.id == "super"


def sets_array_entries(node: ast.Attribute) -> bool:
    """Return whether an attribute is `x.at[...].set`, or `add` or `multiply` there."""
    at = node.value.value if isinstance(node.value, ast.Subscript) else None
    return node.attr in ("set", "add", "multiply") and isinstance(at, ast.Attribute) and at.attr == "at"
