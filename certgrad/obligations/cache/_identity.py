"""A digest of code and of the data that it can read, which is the same in another process.

From some objects on, everything is read that code can come to by a name: globals, attributes of modules, closures,
defaults, functions imported inside functions, classes with all that they hold, the state of objects. A value counts by
its content; an object of JAX, numpy or Python counts by its name, as their versions are known.

A value whose content cannot be read (a generator, an open file), code that looks names up as it runs, and parts of
Python that read the outside (`os`, `time`, `random`) have no identity: `UnknownError` is raised. Then nothing is served
from the cache, and the proof is made again.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import logging
import sys
import types
import typing
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from enum import Enum
from functools import _lru_cache_wrapper, lru_cache, partial
from importlib import import_module
from operator import attrgetter
from typing import Any

import jax
import numpy as np
from jax._src import tree_util

from certgrad.jaxpr.closures import module_of
from certgrad.obligations.generality.syntax import tree_of_code
from certgrad.signatures.nested import has_fields

from ._homes import UnknownError, home_of, library_name, package_state
from ._names import Named
from ._places import text_of

_LOOKS_UP = frozenset(
    "import_module __dict__ __globals__ __getattribute__ f_globals environ getenv __code__ __traceback__ __doc__ "
    "__annotations__ __subclasses__".split()
)
"""Names of attributes by which code looks names up as it runs, or reads the outside."""
_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented), range, slice)
_DATA = (np.ndarray, np.generic, jax.Array)
_HOLDERS = frozenset(("builtins", "functools", "types", "collections"))
"""Modules of Python whose objects may hold data or functions of others."""
_BASES = (dict, list, tuple, set, frozenset, str, bytes, int, float)
_OF_JIT = ("_fun", "_jit_info", "cache_parameters")
_INLINED = ("inline", "keep_unused")
MOST = 200_000
"""At most this many values are read for one identity; code that reaches more has none, and nothing is served."""
_OF_IMPORT = frozenset(
    "__name__ __doc__ __package__ __loader__ __spec__ __path__ __file__ __cached__ __builtins__ __annotations__".split()
)
"""Names that an import puts into a module."""
_SKIPPED = frozenset(
    "__dict__ __weakref__ __doc__ __module__ _abc_impl __abstractmethods__ __annotations__ __firstlineno__ "
    "__static_attributes__".split()
)


class Identity:
    """The digest of some values and of all that they reach; its methods add to it, or raise UnknownError."""

    def __init__(self, roots: Iterable[Any], own: Collection[str] = ()) -> None:
        """The packages in `own` are read as the user's, wherever they are installed. Raises UnknownError."""
        self._own = frozenset(own)
        self._hash = hashlib.blake2b(digest_size=20)
        self._seen: dict[int, tuple[int, Any]] = {}
        self._flattening: set[int] = set()
        """The ids of functions that take objects apart for JAX: their argument is an object, whose state is read."""
        self.codes: set[types.CodeType] = set()
        """The code objects that were read."""
        self.modules: set[str] = set()
        """The modules of users' functions, classes and objects."""
        try:
            for root in roots:
                self._value(root)
        except RecursionError:
            raise UnknownError("its data is nested too deeply") from None
        self.digest = self._hash.hexdigest()

    # --- what is written ---

    def _say(self, *texts: str) -> None:
        """Add texts, each after its length, so that no two lists of texts are one."""
        for text in texts:
            data = text.encode(errors="surrogatepass")
            self._hash.update(b"%d:" % len(data))
            self._hash.update(data)

    def _value(self, value: Any) -> None:
        """Add a value: plain data by its text, a library's object by its name, any other by its type and content."""
        kind = type(value)
        if kind in _PLAIN:
            self._say(kind.__name__, repr(value))
            return
        numbered = self._seen.get(id(value))
        if numbered is not None:  # by its number: so a cycle ends, and two names of one object differ from two objects
            self._say("again", str(numbered[0]))
            return
        if len(self._seen) >= MOST:
            raise UnknownError(f"it reaches more than {MOST:,} values")
        self._seen[id(value)] = len(self._seen), value  # kept, so that no other object gets its id
        if (name := library_name(value, self._own)) is not None:
            self._say("library", name)
            return
        self._say(kind.__module__, kind.__qualname__)
        self._content(value, kind)

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self._value(value)
        self._say("end")

    def _content(self, value: Any, kind: type) -> None:
        """Add the parts of a value by its kind; those of an object of any other class by `_object`."""
        if kind is types.FunctionType:
            self._function(value)
        elif kind is types.ModuleType or isinstance(value, types.ModuleType):
            self._module(value)
        elif kind is types.CodeType:
            self._code(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.MethodType):
            self._all([value.__func__, value.__self__])
        elif isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
            self._all([value.__self__, value.__name__])
        elif isinstance(value, partial):
            self._all([value.func, value.args, value.keywords, _attributes(value)])
        elif isinstance(value, (staticmethod, classmethod)):
            self._value(value.__func__)
        elif kind is property:
            self._all([value.fget, value.fset, value.fdel])
        elif isinstance(value, _lru_cache_wrapper):
            self._all([value.__wrapped__, _attributes(value)])
        elif kind is np.ndarray or isinstance(value, np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, np.ufunc):
            raise UnknownError(f"{value.__name__} is made of a function that cannot be read")
        elif isinstance(value, np.dtype):
            self._say(repr(value))
        elif isinstance(value, jax.Array):
            self._jax_array(value)
        elif kind in (list, tuple, deque):
            self._all(value)
        elif kind in (dict, OrderedDict, types.MappingProxyType):
            self._all(x for item in value.items() for x in item)
        elif kind is defaultdict:
            self._all([value.default_factory, *(x for item in value.items() for x in item)])
        elif kind in (set, frozenset):
            if not all(type(x) in _PLAIN for x in value):
                raise UnknownError("it holds a set of objects, whose order is another in each process")
            self._say(*sorted(f"{type(x).__name__} {x!r}" for x in value))
        elif kind is inspect.Signature:
            defaults = [(p, () if p.default is p.empty else (p.default,)) for p in value.parameters.values()]
            self._all(x for p, default in defaults for x in (p.name, p.kind.name, default))
            self._annotations({p.name: p.annotation for p, _ in defaults}, {})
        elif kind.__module__ in ("typing", "types", "typing_extensions"):
            self._typing(value)
        elif _compiled_by_jax(kind):
            self._all([value.__wrapped__, getattr(value, "__certgrad__", None), _options(value), _attributes(value)])
        else:
            self._object(value, kind)

    def _module(self, module: types.ModuleType) -> None:
        """Add a module that is held as a value, so that code may read any of its attributes."""
        if self._named_module(module) == "own":
            for name, value in sorted(vars(module).items()):
                if name not in _OF_IMPORT:
                    self._say(name)
                    self._value(value)

    def _named_module(self, module: types.ModuleType) -> str:
        """Add the name of a module, and the state of an installed package; return the module's home."""
        library_name(module, self._own)  # raises for modules of the outside
        where = home_of(module.__name__, self._own)
        self._say(module.__name__, package_state(module.__name__) if where == "installed" else "")
        if where == "own":
            self.modules.add(module.__name__)
        return where

    # --- data ---

    def _array(self, value: np.ndarray) -> None:
        if value.dtype.hasobject:
            self._all(value.ravel().tolist())
        self._say(repr(value.dtype), str(value.shape))
        if not value.dtype.hasobject:
            self._hash.update(np.ascontiguousarray(value).tobytes())

    def _jax_array(self, value: Any) -> None:
        if isinstance(value, jax.core.Tracer):
            raise UnknownError("it closes over a value that is traced")
        self._say(str(value.dtype), str(value.weak_type))
        keyed = jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)
        self._array(np.asarray(jax.random.key_data(value) if keyed else value))

    def _typing(self, value: Any) -> None:
        if (args := getattr(value, "__args__", None)) is not None:
            self._all([typing.get_origin(value), args])
        elif isinstance(value, types.SimpleNamespace):
            self._value(vars(value))
        elif isinstance(value, types.CellType):
            self._all(captured_in(value))
        else:
            self._say(repr(value))
            if " at 0x" in repr(value):
                raise UnknownError(f"an object of type {type(value).__name__} cannot be read")

    def _object(self, value: Any, kind: type) -> None:
        """Add an object by its class and its state. Raises UnknownError where Python cannot read all of its state."""
        if isinstance(value, logging.Logger):
            self._say(value.name, str(value.getEffectiveLevel()), str(value.disabled))
            return
        base = next((b for b in _BASES if isinstance(value, b)), None)
        state_is_all = getattr(kind, "__reduce__", None) is object.__reduce__ and _state_is_all(kind)
        try:
            if not state_is_all and base is None and not _of_python(kind):
                raise TypeError
            saved = value.__reduce_ex__(4) if base is None else ()  # raises for a state that Python cannot read
        except Exception:
            raise UnknownError(f"an object of type {kind.__qualname__} cannot be read") from None
        self._value(kind)
        if base is not None:  # of a class derived from a container or a number: its content as such
            as_base: Any = base(value)
            self._value(sorted(map(repr, as_base)) if base in (set, frozenset) else as_base)
        elif not state_is_all:  # of a class of Python's, JAX's or numpy's: what pickle would save
            self._all(list(part) if isinstance(part, Iterator) else part for part in saved)
            return
        ideal = getattr(value, "approximates", None) if module_of(kind).startswith("certgrad.") else None
        self._value(_import_function(ideal) if isinstance(ideal, str) else None)
        self._say("state")
        for name, attribute in sorted(getattr(value, "__dict__", {}).items(), key=lambda item: str(item[0])):
            self._say(str(name))
            if name == "__annotations__":
                self._annotations(attribute, {})
            else:
                self._value(attribute)
        for name in slots_of(kind):
            if hasattr(value, name):
                self._say(name)
                self._value(getattr(value, name))

    def _class(self, kind: type) -> None:
        self.modules.add(kind.__module__)
        flattening = registered_with_jax(kind)
        self._flattening |= {id(f.func if isinstance(f, partial) else f) for f in flattening}
        self._all([type(kind), *kind.__bases__, *flattening])
        for name, member in vars(kind).items():
            if name in _SKIPPED or isinstance(member, (types.GetSetDescriptorType, types.MemberDescriptorType)):
                continue
            self._say(name)
            self._value(member)
        with suppress(NameError):
            self._annotations(vars(kind).get("__annotations__", {}), vars(sys.modules.get(kind.__module__, ast)))

    # --- code ---

    def _function(self, function: types.FunctionType) -> None:
        """Add a function: what it holds, and a user's with its code and all that the code names."""
        where = home_of(str(function.__globals__.get("__name__")), self._own)
        if where == "outside":
            raise UnknownError(f"it reaches {function.__qualname__} of {function.__globals__.get('__name__')}")
        users = where in ("own", "installed")
        if users:
            self._code(function.__code__)
        else:  # a library's wrapper: what it wraps tells it from others
            self._say(function.__qualname__)
        attributes = _attributes(function, "__wrapped__", "__certgrad__", "__signature__")
        cells = [captured_in(cell) for cell in function.__closure__ or ()]
        self._all([function.__defaults__, function.__kwdefaults__, cells, attributes])
        if not users:
            return
        self.modules.add(str(function.__globals__.get("__name__")))
        self._say(function.__name__, function.__qualname__, str(function.__module__))
        with suppress(NameError):  # raised for a name that only type checkers import; the text of the code counts
            self._annotations(function.__annotations__, function.__globals__)
        self._names(function)

    def _code(self, code: types.CodeType) -> None:
        """Add a code object: its bytecode, its source as it parses (or as text), and its constants, no docstring."""
        self.codes.add(code)
        self._say(code.co_name, code.co_qualname, str(code.co_flags), str(code.co_argcount))
        self._say(str(code.co_posonlyargcount), str(code.co_kwonlyargcount), code.co_code.hex())
        self._say(code.co_exceptiontable.hex(), *code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars)
        tree = tree_of_code(code)  # certgrad reads it as well; it has no comments and no layout
        self._say(_dumped(tree) if tree is not None else text_of(code))
        doc = _docstring(tree) if tree is not None else None
        described = doc is not None and code.co_consts[:1] in ((doc,), (inspect.cleandoc(doc),))
        for constant in (None, *code.co_consts[1:]) if described else code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self._constant(constant)

    def _constant(self, constant: Any) -> None:
        if isinstance(constant, frozenset):
            self._say(*sorted(f"{type(x).__name__} {x!r}" for x in constant))
        elif type(constant) is tuple:
            self._say("tuple", str(len(constant)))
            for entry in constant:
                self._constant(entry)
        else:
            self._say(type(constant).__name__, repr(constant))

    def _annotations(self, annotations: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        for name, annotation in annotations.items():
            self._say(name)
            self._annotation(annotation, names)

    def _annotation(self, annotation: Any, names: Mapping[str, Any]) -> None:
        """Add what certgrad reads of an annotation: values, shapes and dtypes; of a text, the values of its names."""
        if isinstance(annotation, str):
            self._say("text", annotation)
            with suppress(SyntaxError):
                for node in ast.walk(ast.parse(annotation.strip(), mode="eval")):
                    if isinstance(node, ast.Name | ast.Attribute):
                        self._annotation(_meant(node, names), {})
            return
        if isinstance(annotation, types.FunctionType):
            self._value(annotation)
        if has_fields(annotation) or (isinstance(annotation, type) and issubclass(annotation, Enum)):
            self._value(annotation)
        shown = repr(annotation).partition(" at 0x")[0]
        self._say(shown, str(getattr(annotation, "dim_str", "")), str(getattr(annotation, "dtypes", "")))
        for part in (getattr(annotation, "__value__", None), getattr(annotation, "__supertype__", None)):
            self._annotation(part, names) if part is not None else None
        for part in typing.get_args(annotation):
            self._annotation(part, names)

    def _names(self, function: types.FunctionType) -> None:
        """Add the values that a function's code reaches by names: globals, imports, and attributes of modules."""
        names = Named(function.__code__)
        builtin = vars(builtins)
        of_objects = id(function) in self._flattening and not any(
            isinstance(function.__globals__.get(name), types.ModuleType) for name in names.globals
        )
        if unknown := names.attributes & (_LOOKS_UP - {"__dict__"} if of_objects else _LOOKS_UP):
            raise UnknownError(f"{function.__name__} uses {min(unknown)}: what it comes to is not written in it")
        modules: list[types.ModuleType] = []
        for name in sorted(names.globals):
            if name not in function.__globals__ and name not in builtin:
                self._say("no global", name)
                continue
            named = function.__globals__.get(name, builtin.get(name))
            self._say("global", name)
            if not isinstance(named, types.ModuleType):
                self._value(named)
            else:  # of a module only the attributes count that the code names, unless it hands the module on
                self._named_module(named)
                if name in names.bare:
                    self._value(named)
                for chain in sorted(names.chains.get(name, ())):
                    self._chain(named, chain)
                modules.append(named)
        for module, attributes in names.imported(function):
            self._say("import", module.__name__)
            if not attributes:
                self._value(module)
            for name in attributes:
                self._chain(module, (name,))
            modules.append(module)
        self._module_attributes(modules, names.attributes)

    def _module_attributes(self, modules: list[types.ModuleType], names: set[str]) -> None:
        """Add the values of these names in modules of the project, and in modules that are such values.

        All names count in all modules, as certgrad's search of the code takes them (`generality/reach.py`).
        """
        done: set[int] = set()
        while modules:
            module = modules.pop(0)
            if id(module) not in done and home_of(module.__name__, self._own) == "own":
                done.add(id(module))
                values = [self._attribute(module, name) for name in sorted(names & vars(module).keys())]
                modules += [value for value in values if isinstance(value, types.ModuleType)]

    def _chain(self, module: types.ModuleType, names: tuple[str, ...]) -> None:
        """Add the object at the end of a chain of names, `module.part.function`; a module at its end as a whole."""
        for name in names:
            value = self._attribute(module, name)
            if not isinstance(value, types.ModuleType):
                return
            module = value
        self._value(module)

    def _attribute(self, module: types.ModuleType, name: str) -> Any:
        """Add the value of a name in a module, and return it; an object that a library made is not added: None."""
        value = vars(module).get(name)
        if value is None and home_of(module.__name__) in ("own", "installed"):
            self._say("nothing at", module.__name__, name)  # the module may make it on request
            self._value(vars(module).get("__getattr__"))
            value = getattr(module, name, None)
        if value is None or (home_of(module.__name__) in ("library", "python") and self._made_by_library(value)):
            return None  # such objects follow from the library's version
        self._say("attribute", module.__name__, name)
        if isinstance(value, types.ModuleType):
            self._named_module(value)
        else:
            self._value(value)
        return value

    def _made_by_library(self, held: Any) -> bool:
        """Return whether an object of a library's class wraps nobody else's code.

        Other objects in a library's module, such as numbers, arrays and containers, may have been put there by others.
        """
        if isinstance(held, (types.FunctionType, types.ModuleType, types.BuiltinFunctionType, *_DATA)):
            return False
        kind = held if isinstance(held, type) else type(held)
        module = str(getattr(held, "__module__", None) or getattr(kind, "__module__", ""))
        return home_of(module, self._own) in ("library", "python") and module not in _HOLDERS


def _meant(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of a dotted name; None where it has none."""
    if isinstance(node, ast.Attribute):
        return getattr(_meant(node.value, names), node.attr, None)
    return names.get(node.id) if isinstance(node, ast.Name) else None


def _import_function(text: str) -> Any:
    """Return the function that a text `package.module:function` names. Raises UnknownError if there is none."""
    module, _, name = text.partition(":")
    with suppress(ImportError, ValueError, AttributeError):
        return attrgetter(name)(import_module(module))
    raise UnknownError(f"'{text}' names nothing")


def captured_in(cell: Any) -> tuple[Any, ...]:
    """Return the content of a cell, in a tuple; () before its variable is assigned."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def slots_of(kind: type) -> list[str]:
    """Return the names of the slots of a class and of its bases."""
    names: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    return [n for n in dict.fromkeys(names) if n not in ("__dict__", "__weakref__")]


def _docstring(tree: ast.AST) -> str | None:
    return ast.get_docstring(tree, clean=False) if isinstance(tree, ast.FunctionDef) else None


@lru_cache(maxsize=4096)
def _dumped(tree: ast.AST) -> str:
    """Return the syntax tree of a function as text, without docstrings."""
    if any(_docstring(node) is not None for node in ast.walk(tree)):
        tree = deepcopy(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and _docstring(node) is not None:
                del node.body[0]
    return ast.dump(tree)


def _state_is_all(kind: type) -> bool:
    """Return whether attributes and slots are all of an object's state, by Python's own account."""
    getstate = getattr(kind, "__getstate__", None)
    return getstate is object.__getstate__ or getattr(getstate, "__module__", "") == "dataclasses"


def _of_python(kind: type) -> bool:
    """Return whether a class is Python's, JAX's or numpy's, whose `__reduce__` gives all of its state."""
    return home_of(kind.__module__) in ("python", "library")


def registered_with_jax(kind: type) -> list[Any]:
    """Return the two functions that flatten and unflatten objects of a class for JAX; None for one that it lacks."""
    return [getattr(tree_util._registry.get(kind), name, None) for name in ("to_iter", "from_iter")]


def _attributes(value: Any, *also: str) -> dict[str, Any]:
    """Return the attributes set on a function; of those that Python or JAX sets only the ones named in `also`."""
    return {k: v for k, v in vars(value).items() if k in also or not (k.startswith("__") or k in _OF_JIT)}


def _options(compiled: Any) -> list[Any]:
    """Return the options of a function under `jax.jit`, as it stores them."""
    state, info = compiled.__getstate__(), getattr(compiled, "_jit_info", None)
    caches = repr(state["global_cache_key"]).partition(" at 0x")[0]
    return [state["static_argnums"], state["static_argnames"], caches, *(getattr(info, n, None) for n in _INLINED)]


def _compiled_by_jax(kind: type) -> bool:
    return module_of(kind).partition(".")[0] in ("jax", "jaxlib") and kind.__name__ == "PjitFunction"
