"""What code can run: the functions of a subject, and all outside the libraries that they reach.

A function reaches what it names (globals, attributes of modules and of objects), what it closes over, its defaults, and
what it wraps; an object that is called, such as a `custom_vjp`, a `partial` or a method, reaches its parts. A rule that
exists only while a program runs is reached from the program's equations.
"""

from __future__ import annotations

import dis
import gc
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import jax

from certgrad._subject import Subject, is_op
from certgrad.jaxpr.closures import captured, closed_over
from certgrad.obligations.tracing.jax_internals import equations_of, from_library, unremembered
from certgrad.process.threads import PROCESS_LOCK

LIBRARIES = ("jax", "ml_dtypes", "numpy", "builtins", "math", "functools", "operator", "itertools", "_pytest")
"""Packages whose functions are not searched. pytest's is one because it writes calls of it into every `assert`."""
SYMBOLIC = ("sympy", "mpmath")
"""Packages that compute from numbers and symbols, and raise an error for a traced value. State of theirs that code
names is compared like its own, as they count symbols and draw random numbers."""
CHECKERS = ("beartype", "jaxtyping", "typeguard")
"""Packages that check the types of values, and hand the values on or raise. They remember nothing but types."""
_NOT_SEARCHED = (*LIBRARIES, *SYMBOLIC, *CHECKERS)
_NO_STATE = (*LIBRARIES, *CHECKERS)
_NO_METHODS = (*_NOT_SEARCHED, "jaxlib", "equinox", "flax")
_RUNS_OPS = tuple(f"certgrad.ops.{name}" for name in ("_execute", "_call", "_declare", "_composed"))
"""The modules that run the functions that an op declares, and are trusted to do nothing else."""
_HOLDERS = "transforms jvp bwd fn_bwd fwd fn_fwd custom_vjp_fn fun fn f keywords args func __wrapped__".split()
"""Attributes under which objects that are called, such as a `custom_vjp` or a `partial`, keep what they call."""
_JITTED = type(jax.jit(lambda x: x))
_TABLES = (dict, list, tuple, set, frozenset)


@lru_cache(maxsize=512)
def reachable(subject: Subject) -> tuple[FunctionType, ...]:
    """Return the functions outside the libraries that a subject's code reaches, each once."""
    return tuple(reachable_from(subject.code))


def reachable_from(values: Iterable[Any]) -> Iterator[FunctionType]:
    """Yield the functions outside the libraries that these values reach, each once."""
    return filter(is_own, reached_from(values))


def reached_from(values: Iterable[Any]) -> Iterator[Any]:
    """Yield these values and all callables and tables that they reach, each once."""

    def next_values(value: Any) -> list[Any]:
        return [*(named_in(value) if is_own(value) else ()), *runnable_parts(value)]

    return each_once(values, next_values)


def remembered_by_jax(reached: Iterable[Any]) -> bool:
    """Return whether one of these values is a user's jitted function, whose trace JAX keeps and does not make anew."""
    return any(type(value) is _JITTED and is_own(inspect.unwrap(value)) for value in reached)


def traced_anew(subject: Subject) -> AbstractContextManager[None]:
    """Return a context in which a subject's code is traced without JAX's caches, so that it asks all its questions."""
    return unremembered() if _is_remembered(subject) else nullcontext()


@lru_cache(maxsize=512)
def _is_remembered(subject: Subject) -> bool:
    return not subject.is_op and remembered_by_jax(reached_from(subject.code))


def each_once(
    values: Iterable[Any], reached: Callable[[Any], Iterable[Any]], nearest_first: bool = False
) -> Iterator[Any]:
    """Yield these values and all values that `reached` returns of yielded ones, each once.

    With `nearest_first` they come breadth first, else depth first.
    """
    queue = deque(values)
    seen: dict[tuple[int, ...], Any] = {}
    while queue:
        value = queue.popleft() if nearest_first else queue.pop()
        # A method is made anew each time it is looked up: its function and its owner tell it apart.
        bound = isinstance(value, MethodType)
        key = (id(value.__func__), id(value.__self__)) if bound else (id(value),)
        if key not in seen:
            seen[key] = value  # kept, so that no other object gets its id
            yield value
            with PROCESS_LOCK:  # another thread may have put something in place of a part, for as long as it traces
                queue += reached(value)


def rules_in(jaxpr: Any) -> list[Any]:
    """Return the rules' functions behind the custom rules that a program calls, at any depth."""
    calls = [e for e in equations_of(jaxpr) if e.primitive.name.startswith(("custom_vjp_call", "custom_jvp_call"))]
    return [value for eqn in calls for value in eqn.params.values() if not hasattr(value, "jaxpr")]


def named_in(f: FunctionType) -> list[Any]:
    """Return the callables that a function's code reaches by a name, and tables, which may hold callables."""
    return [v for v in values_in(f) if callable(v) or type(v) in _TABLES]


def values_in(f: FunctionType) -> Iterator[Any]:
    """Yield the values that a function's code reaches by a name, and the methods of these that the code names."""
    attributes = loads(f.__code__)[1]
    for _, value in variables(f):
        yield value
        yield from methods(value, attributes)


def variables(f: FunctionType, lazy: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield the values that a function's code reaches by a name, each with that name.

    These are globals, closed-over values, defaults, and attributes of modules outside the libraries; with `lazy`, also
    attributes that such a module makes only on request (`__getattr__`). An attribute is taken if the code names it, of
    whatever object.
    """
    loaded, attributes = loads(f.__code__)
    named_values = [*((n, f.__globals__[n]) for n in loaded if n in f.__globals__), *closed_over(f)]
    defaults = f.__defaults__ or ()
    arguments = f.__code__.co_varnames[: f.__code__.co_argcount]
    by_default = [*zip(arguments[len(arguments) - len(defaults) :], defaults, strict=False)]
    named_values += [(f"the default of {n}", v) for n, v in (*by_default, *(f.__kwdefaults__ or {}).items())]
    seen: set[int] = set()
    for name, value in named_values:  # the list grows by the attributes of modules
        if not isinstance(value, ModuleType):
            yield name, value
        elif id(value) not in seen and value.__name__.split(".")[0] not in _NO_STATE:
            seen.add(id(value))
            contents = vars(value)
            for n in attributes:
                if n in contents:
                    named_values.append((f"{name}.{n}", contents[n]))
                elif lazy and hasattr(value, n):
                    named_values.append((f"{name}.{n}", getattr(value, n)))


def methods(owner: Any, names: Iterable[str]) -> Iterator[MethodType]:
    """Yield the methods with one of these names of an object or a class, written by hand and outside the libraries.

    Of a class its `__init__` is one too. A property counts as the method that computes it.
    """
    kind = owner if isinstance(owner, type) else type(owner)
    if _top(kind) in _NO_METHODS or is_op(owner):
        return
    for name in dict.fromkeys(("__init__", *names) if isinstance(owner, type) else names):
        member = inspect.getattr_static(kind, name, None)
        plain = getattr(member, "__func__", getattr(member, "fget", member))
        if isinstance(plain, FunctionType) and not (_of_library(plain) or plain.__code__.co_filename.startswith("<")):
            yield MethodType(plain, owner)


def _top(kind: type) -> str:
    """Return the top-level package of a class; "" where it has none, as classes that sympy makes."""
    return str(getattr(kind, "__module__", None) or "").partition(".")[0]


def runnable_parts(value: Any) -> list[Any]:
    """Return the parts of a value that may run when it is called, or when an entry of it is; [] if none may."""
    if type(value) in _TABLES:
        return [*value, *(value.values() if isinstance(value, dict) else ())]
    if isinstance(value, MethodType):
        return [*methods(value.__self__, loads(value.__func__.__code__)[1]), value.__func__]
    if is_op(value):  # an op of the library is audited on its own
        return [value.forward] if value.__module__.startswith("certgrad.") else list(value.code)
    if isinstance(value, FunctionType):
        wrapped = [value.__wrapped__] if hasattr(value, "__wrapped__") else []
        return [*captured(value), *wrapped] if _of_library(value) else wrapped
    if isinstance(value, type) or not callable(value):
        return []
    members = vars(value) if hasattr(value, "__dict__") else {}
    if _top(type(value)) in _NO_METHODS:
        return [members.get(name, getattr(value, name, None)) for name in _HOLDERS]
    return [*members.values(), *methods(value, ["__call__"])]


def attributes_of(value: Any) -> dict[str, Any]:
    """Return an object's attributes in slots and `__dict__`, read without calling a method of its class."""
    attributes: dict[str, Any] = {}
    kind: Any = type(value)
    for slot in _slots(kind):
        with suppress(AttributeError):  # it is empty
            attributes[slot.__name__] = slot.__get__(value, kind)
    with suppress(AttributeError):
        instance_dict = object.__getattribute__(value, "__dict__")
        attributes |= instance_dict if type(instance_dict) is dict else {}
    return attributes


@lru_cache(maxsize=1024)
def _slots(kind: type) -> tuple[MemberDescriptorType, ...]:
    return tuple(d for base in kind.__mro__ for d in vars(base).values() if isinstance(d, MemberDescriptorType))


def results_of(cache: Any) -> Iterator[Any]:
    """Yield the results in a cache of `functools.lru_cache`, found among the objects that it refers to."""
    bounded = cache.cache_parameters()["maxsize"] is not None
    for part in gc.get_referents(cache):  # a bounded cache refers to its keys and results, another to a dictionary
        if part is vars(cache) or isinstance(part, type) or part is cache.__wrapped__:
            continue
        if type(part) is not dict:
            yield part
        elif not any(type(value).__name__ == "_lru_list_elem" for value in part.values()):
            yield from [part] if bounded else part.values()


def is_own(value: Any) -> bool:
    """Return whether a value is a function of no library."""
    return isinstance(value, FunctionType) and not _of_library(value)


def is_users(value: Any) -> bool:
    """Return whether a value is a function of neither a library nor certgrad."""
    return isinstance(value, FunctionType) and is_users_code(value.__code__, value.__globals__)


def users_files(values: Iterable[Any]) -> frozenset[str]:
    """Return the files of the users' functions among these values."""
    return frozenset(f.__code__.co_filename for f in values if is_users(f))


def is_users_code(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Return whether code is neither a library's nor certgrad's, by its file and the module of its globals."""
    return _is_users(code.co_filename, str(names.get("__name__")))


def _of_library(function: FunctionType) -> bool:
    """Return whether a function's own code, not what it wraps, is a library's, or certgrad's but no op's."""
    return _in_library(function.__code__.co_filename, str(function.__globals__.get("__name__")))


@lru_cache(maxsize=4096)
def _is_users(file: str, module: str) -> bool:
    return not _in_library(file, module) and module.partition(".")[0] != "certgrad"


@lru_cache(maxsize=4096)
def _in_library(file: str, module: str) -> bool:
    if module.split(".")[0] == "certgrad":
        return not module.startswith("certgrad.ops.") or module in _RUNS_OPS
    return module.split(".")[0] in _NOT_SEARCHED or from_library(file)


def raised_by_users(error: BaseException | None) -> bool:
    """Return whether users' code, or a checker of types, raises the error itself, and no library that it calls.

    AttributeError and NameError do not count, as Python raises them.
    """
    at = error.__traceback__ if error is not None else None
    if at is None or isinstance(error, (AttributeError, NameError)):
        return False
    while at.tb_next is not None:
        at = at.tb_next
    names = at.tb_frame.f_globals
    return str(names.get("__name__")).partition(".")[0] in CHECKERS or is_users_code(at.tb_frame.f_code, names)


def code_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_in(constant)


@lru_cache(maxsize=4096)
def loads(code: CodeType) -> tuple[list[str], list[str]]:
    """Return the names that code loads as globals, and names of attributes that it reads; in nested functions too."""
    loaded: list[str] = []
    attributes: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded.append(instruction.argval)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.append(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_loaded, inner_attributes = loads(constant)
            loaded += inner_loaded
            attributes += inner_attributes
    return loaded, attributes
