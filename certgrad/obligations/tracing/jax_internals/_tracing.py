"""Tracing at symbolic dimensions, with every question about dimensions recorded."""

from __future__ import annotations

import dis
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import count
from numbers import Number
from threading import get_ident
from types import FunctionType
from typing import Any

import jax
import numpy as np
from jax import api_util, export
from jax._src import config as _config
from jax._src import core as _core
from jax._src.export import shape_poly as _shape_poly
from jax.core import ShapedArray
from jax.extend import linear_util
from jax.extend.core import ClosedJaxpr
from jax.interpreters import partial_eval
from jax.sharding import AxisType

from certgrad import signatures
from certgrad.jaxpr import complex_numbers as _complex
from certgrad.jaxpr.programs import jaxpr_of
from certgrad.jaxpr.references import without_references
from certgrad.obligations.terms.polynomials import Poly
from certgrad.process.threads import one_at_a_time

from ..jax_dimensions import arithmetic_of_dimensions
from ._programs import Decision, Program, without_mark
from ._values import DimExpr, dim_poly

_PACKAGES = os.path.dirname(os.path.dirname(jax.__file__))
_LIBRARIES = tuple(
    os.path.join(folder, "")  # jaxopt and numpyro stand beside them, and are none of them
    for folder in (
        *(os.path.dirname(m.__file__) for m in (jax, np, os) if m.__file__),
        *(os.path.join(_PACKAGES, name) for name in ("opt_einsum", "jaxlib", "jaxtyping")),
    )
)
"""Folders of code that is trusted to treat dimensions uniformly: JAX, numpy, the standard library, opt_einsum, and
jaxtyping, which compares sizes with each other and raises."""


_OUTSIDE = os.path.join(os.path.dirname(os.__file__), "site-packages", "")


_TRACING = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_SIGNATURES = os.path.join(os.path.dirname(signatures.__file__), "")


@lru_cache(maxsize=1024)
def _asker(file: str) -> str:
    if file.startswith(_SIGNATURES):  # whether a call of an op fits its signature: the answer can only refuse the call
        return "library"
    if file.startswith(_TRACING):  # what a program is, and not what a rule makes of it
        return "library"
    return "library" if from_library(file) else "rule"


@lru_cache(maxsize=1024)
def asks_for_others(file: str) -> bool:
    """Return whether a file is of the standard library or numpy, which ask of a size what their callers want to
    know.
    """
    if file.startswith("<frozen "):
        return True
    return from_library(file) and not file.startswith((_LIBRARIES[0], *_LIBRARIES[3:]))


@lru_cache(maxsize=4096)
def from_library(file: str) -> bool:
    """Return whether it is a file of JAX's, numpy's, opt_einsum's or Python's own."""
    if file.startswith((*_LIBRARIES[:2], *_LIBRARIES[3:])):
        return True
    return file.startswith(_LIBRARIES[2]) and not file.startswith(_OUTSIDE)


_NEVER_A_NUMBER = (DimExpr, type(None), str, bytes, tuple, list, dict, set, frozenset, type)
_TEXTS = frozenset({"__str__", "__repr__", "__format__"})
"""What Python calls where code asks an object for its text."""
MOST_AXES = 6
"""The highest rank that is traced of arrays whose rank is left open."""
_OF_TYPES = frozenset(
    f.__code__
    for f in (getattr(member, "__func__", member) for member in vars(ShapedArray).values())
    if isinstance(f, FunctionType)
)
"""The methods of the type of an array. Types are interned: a call there looks a shape up among those of other types."""


def _by_chance(frame: Any) -> bool:
    """Return whether a comparison is made by a hash table, which compares keys that share a bucket, as chance has it.

    What the code of the methods itself compares is no call, and what it calls in Python has a frame of its own. A key
    is compared by methods of JAX's where a call of JAX's looks it up: what is traced next would depend on what was
    traced before.
    """
    if frame.f_code in _OF_TYPES:
        return _calls(frame)
    key = frame
    while frame is not None and frame.f_code.co_name in ("__eq__", "__ne__") and from_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not key and frame is not None and from_library(frame.f_code.co_filename) and _calls(frame)


def _calls(frame: Any) -> bool:
    """Return whether a frame is at a call."""
    code = frame.f_code
    return dis.opname[code.co_code[frame.f_lasti]].startswith("CALL")


@one_at_a_time
def recorded_decisions() -> Iterator[list[tuple[Any, Any, str]]]:
    """Record each comparison that JAX answers "different", each truth test and, from outside JAX, each hash.

    What other threads ask meanwhile is answered, and not recorded.
    Order comparisons need no record: JAX raises where it cannot decide them.

    JAX asks each size of a shape for its integer, and keeps the error that a symbolic one raises in the frame that
    caught it: a circle that holds all frames of the trace, and their values, until the collector comes. Here a symbolic
    size is passed on as it is, which is what becomes of it there.
    """
    record: list[tuple[Any, Any, str]] = []
    thread = get_ident()
    eq, ne, hashed, truth = DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__, getattr(DimExpr, "__bool__", None)
    text, shown = DimExpr.__str__, DimExpr.__repr__

    def asker(frame: Any = None) -> str:
        """Who asks: the standard library and numpy ask for whoever called them."""
        frame = frame or sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if file == "<string>":
                # Generated, as the methods of a dataclass are: it belongs to the module of its names.
                file = str(frame.f_globals.get("__file__", ""))
            if not asks_for_others(file):
                return _asker(file)
            frame = frame.f_back
        return "library"

    def compared(a: Any, b: Any, who: str) -> tuple[Any, ...]:
        """Return what a size is compared with: another size, or a number that a size can be; (None,) for several."""
        if isinstance(b, int) or (type(b) is DimExpr and b.scope is a.scope):
            return (b,)
        if isinstance(b, np.ndarray) and b.ndim:
            return (None,)
        if isinstance(b, (float, complex, np.generic, np.ndarray)) and np.result_type(b).kind in "iufc":
            return (int(b.real),) if np.isfinite(b) and b == np.rint(b.real) else ()
        if isinstance(b, Number):  # a fraction, a decimal, a number of a package for algebra
            with suppress(Exception):
                return (int(b),) if b == int(b) else ()  # type: ignore[call-overload]
        if type(b).__eq__ is object.__eq__ or isinstance(b, (*_NEVER_A_NUMBER, jax.Array)) or who == "library":
            return ()
        return (None,)  # what a class of the rule's answers nobody can say

    def recording(compare: Callable, different: bool) -> Callable:
        def record_comparison(self: Any, other: Any) -> Any:
            answer = compare(self, other)
            frame = sys._getframe(1)
            if answer is different and get_ident() == thread and not _by_chance(frame):
                who = asker_through("__eq__", "__ne__")
                for number in compared(self, other, who):
                    # Keys of JAX's caches hold sizes, and are compared in C where they share some bits of a hash.
                    in_cache = type(number) is DimExpr and from_library(frame.f_code.co_filename) and _calls(frame)
                    if who == "rule" or not in_cache:
                        record.append((self, number, who))
            return answer

        return record_comparison

    def record_attribute(self: Any, name: str) -> Any:
        if hasattr(int, name) and get_ident() == thread and asker() == "rule":
            record.append((self, None, "rule"))  # the code may go on without what a number has
        raise AttributeError(f"a symbolic size has no attribute {name!r}")

    def asker_through(*methods: str) -> str:
        """Who asks of what holds a size, as a type or a shape with a dtype does, asks it of the size."""
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_name in methods and from_library(frame.f_code.co_filename):
            frame = frame.f_back
        return asker(frame)

    def record_hash(self: Any) -> int:
        if get_ident() == thread and asker_through("__hash__") == "rule":
            record.append((self, None, "rule"))
        return hashed(self)

    def record_hash_of_type(self: Any) -> int:
        if DimExpr in map(type, self.shape) and get_ident() == thread and asker_through("__hash__") == "rule":
            record.append((next(d for d in self.shape if type(d) is DimExpr), None, "rule"))
        return object.__hash__(self)

    def asker_of_text() -> str:
        """Return who asks for a text, also of a type or a program, as `str` does; JAX's own use does not count."""
        outermost, frame = None, sys._getframe(2)
        while frame is not None and from_library(frame.f_code.co_filename):
            outermost, frame = frame, frame.f_back  # type: ignore[assignment]
        if frame is None or (outermost is not None and outermost.f_code.co_name not in _TEXTS):
            return "library"
        return _asker(frame.f_code.co_filename)

    def record_text(self: Any) -> str:
        if get_ident() == thread and "rule" in (asker(), asker_of_text()):
            record.append((self, None, "rule"))
        return text(self)

    def record_bool(self: Any) -> bool:
        if get_ident() == thread:
            record.append((self, 0, asker()))
        return truth(self) if truth is not None else True

    def recording_order(compare: Callable) -> Callable:
        def order(self: Any, other: Any) -> bool:
            try:
                return compare(self, other)
            except Exception:
                if get_ident() == thread and asker() == "rule":
                    record.append((self, None, "rule"))  # the code may go on as if it had been answered
                raise

        return order

    def same_type(self: Any, other: Any) -> Any:
        """Compare types of arrays by identity, as they are interned, so that no size is asked for anything."""
        if self is other or type(other) is not ShapedArray:
            return self is other or NotImplemented
        sizes = [(a, b) for a, b in zip(self.shape, other.shape, strict=False) if DimExpr in (type(a), type(b))]
        if sizes and self.dtype == other.dtype and get_ident() == thread and asker() == "rule":
            if len(self.shape) == len(other.shape):
                record.extend(
                    (*((a, b) if type(a) is DimExpr else (b, a)), "rule") for a, b in sizes if eq(a, b) is False
                )
            elif max(len(self.shape), len(other.shape)) > MOST_AXES:
                record.append((sizes[0][0], None, "rule"))  # at no such rank is anything traced
        return False

    orders = {name: getattr(DimExpr, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}
    canonical = _core._canonicalize_dimension
    try:
        _core._canonicalize_dimension = lambda dim: dim if type(dim) is DimExpr else canonical(dim)
        for name, compare in orders.items():
            setattr(DimExpr, name, recording_order(compare))
        DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__, DimExpr.__bool__ = (
            recording(eq, False),
            recording(ne, True),
            record_hash,
            record_bool,
        )
        DimExpr.__str__ = DimExpr.__repr__ = record_text
        DimExpr.__getattr__ = record_attribute
        ShapedArray.__eq__, ShapedArray.__hash__ = same_type, record_hash_of_type  # type: ignore[method-assign]
        yield record
    finally:
        _core._canonicalize_dimension = canonical
        for name, compare in orders.items():
            setattr(DimExpr, name, compare)
        DimExpr.__str__, DimExpr.__repr__ = text, shown
        del DimExpr.__getattr__
        del ShapedArray.__eq__, ShapedArray.__hash__
        DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__ = eq, ne, hashed
        if truth is None:
            del DimExpr.__bool__
        else:
            DimExpr.__bool__ = truth


@one_at_a_time
def sizes_as_constants() -> Iterator[None]:
    """Let this thread's code outside the libraries find that a size is a constant, as it is where that code runs.

    What it goes on to ask is then asked of the symbolic size, and recorded. The functions stay the objects that they
    are, whatever names they are imported by: their code is another meanwhile.
    """
    if f"_certgrad_{_core.is_constant_dim.__name__}" in _core.is_constant_dim.__globals__:  # inside another such block
        yield
        return
    thread = get_ident()

    def answering(own: Any, answer: bool) -> Callable[[Any, Any], bool]:
        plain = FunctionType(own.__code__, own.__globals__, own.__name__)

        def answered(size: Any, frame: Any) -> bool:
            symbolic = type(size) is DimExpr and get_ident() == thread
            return answer if symbolic and _asker(frame.f_code.co_filename) == "rule" else plain(size)

        return answered

    asked = [(_core.is_constant_dim, True), (_shape_poly.is_symbolic_dim, False)]
    before = [(own, own.__code__) for own, _ in asked]
    for own, answer in asked:
        own.__globals__[f"_certgrad_{own.__name__}"] = answering(own, answer)
        own.__code__ = _ANSWERS[own.__name__].__code__
    try:
        yield
    finally:
        for own, code in before:
            own.__code__ = code
            del own.__globals__[f"_certgrad_{own.__name__}"]


_ANSWERS: dict[str, Any] = {
    "is_constant_dim": lambda d: _certgrad_is_constant_dim(d, __import__("sys")._getframe(1)),  # type: ignore # noqa
    "is_symbolic_dim": lambda p: _certgrad_is_symbolic_dim(p, __import__("sys")._getframe(1)),  # type: ignore # noqa
}
"""Code in place of that of the functions, in whose modules it finds what answers."""


_SHARED_SCOPE = export.SymbolicScope()


def symbols(names: Sequence[str], constraints: Sequence[str] = (), shared: bool = False) -> dict[str, Any]:
    """Dimension variables of one scope. A dimension is at least 1.

    `shared` variables are equal whenever their names are, so JAX finds in its caches what it traced before; that is
    five times faster, and hides the questions about dimensions that a cached function asked.
    """
    if not names:
        return {}
    if shared and not constraints:
        return {name: _shared_symbol(name) for name in names}
    return dict(zip(names, export.symbolic_shape(", ".join(names), constraints=constraints), strict=True))


@lru_cache(maxsize=256)
def _shared_symbol(name: str) -> Any:
    return export.symbolic_shape(name, scope=_SHARED_SCOPE)[0]


@contextmanager
def wide_floats(on: bool = True) -> Iterator[None]:
    """Trace with 64-bit numbers, whatever the caller's configuration."""
    with jax.enable_x64(on):
        yield


_memory = jax.make_user_context()
_memories = count()


def unremembered() -> Any:
    """Return a context in which JAX's caches are empty: they keep what was traced in each context apart."""
    return _memory(next(_memories))


def _named_blocks() -> AbstractContextManager[None]:
    """Pallas kernels may be called with sizes that are names, where any can be called at all."""
    pallas = sys.modules.get("jax._src.pallas.core")
    return pallas.pallas_export_experimental(dynamic_shapes=True) if pallas else nullcontext()


def _whole_tracebacks() -> AbstractContextManager[None]:
    """JAX leaves tracebacks as they are. To take its own frames out it asks the file system about each, which takes
    longer than a trace; and of an error in a trace only the message is read.
    """
    return _config.traceback_filtering("off")


@contextmanager
def _tracing() -> Iterator[list[Any]]:
    """Set up what holds while a rule is traced; yields the comparisons of sizes made meanwhile."""
    with (
        recorded_decisions() as record,
        sizes_as_constants(),
        arithmetic_of_dimensions(from_library),
        _named_blocks(),
        _whole_tracebacks(),
    ):
        yield record


def trace(fn: Callable, specs: Sequence[Any]) -> Program:
    """The jaxpr of `fn` at abstract arguments, without running it."""
    with _tracing() as record:
        jaxpr, consts, tree = _jaxpr(fn, specs)
        asked = len(record)
        plain, place = without_mark(jaxpr)
        jaxpr, consts = _of_reals(*_of_values(plain, consts), specs)
        del record[asked:]  # asked in reading the program, not by it
    pairs = {(str(a), str(b), asker): (a, b) for a, b, asker in record}
    decisions = {
        Decision(None if b is None else dim_poly(a) - dim_poly(b), asker): None
        for (_, _, asker), (a, b) in pairs.items()
    }
    return Program(jaxpr, consts, tree, tuple(decisions), place if jaxpr is plain else None)


def trace_or_failure(fn: Callable, specs: Sequence[Any]) -> tuple[Any, Exception | None, list[Poly]]:
    """Return the jaxpr of `fn`, or the error in its place with the differences of sizes taken for nonzero, in order.

    Code that wants two sizes to be equal compares them and raises: what a failing trace compared last is what it needs.
    """
    with _tracing() as record:
        try:
            return _jaxpr(fn, specs)[0], None, []
        except Exception as error:
            failure, asked = error, list(record)
    return None, failure, [dim_poly(a) - dim_poly(b) for a, b, _ in asked if b is not None]


def _of_values(jaxpr: Any, consts: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The program without the references that it makes for itself; as it is where it has none, or shares one."""
    program = without_references(ClosedJaxpr(jaxpr, consts))
    return (jaxpr, consts) if program is None else (jaxpr_of(program), program.consts)


def _of_reals(jaxpr: Any, consts: Sequence[Any], specs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The program with pairs of reals for complex numbers; as it is where it has none, or some without a reading."""
    if not _complex.has_complex(jaxpr):
        return jaxpr, consts
    with suppress(_complex.NoPairsError):
        jaxpr, consts, _ = _jaxpr(_complex.on_pairs(Program(jaxpr, consts)), jax.tree_util.tree_leaves(tuple(specs)))
    return jaxpr, consts


_UNNAMED = api_util.debug_info("trace", lambda: None, (), {})._replace(arg_names=None)
"""Messages of JAX's errors need not name arguments: only their first line is shown."""


def abstract(shape: Sequence[Any], dtype: Any, weak: bool = False) -> Any:
    """An argument of a trace. Unlike a ShapeDtypeStruct it is taken as it is in each of several traces."""
    mesh = jax.sharding.get_abstract_mesh()
    along = mesh.axis_names[:1] if shape and AxisType.Explicit in mesh.axis_types else ()
    sharding = None if mesh.empty else jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*along))
    return api_util.shaped_abstractify(jax.ShapeDtypeStruct(tuple(shape), dtype, weak_type=weak, sharding=sharding))


def _jaxpr(fn: Callable, specs: Sequence[Any]) -> tuple[Any, Sequence[Any], Any]:
    """The jaxpr, its constants and the tree of its outputs, as `jax.make_jaxpr` gives them.

    `make_jaxpr` goes through all of `jit`, which takes longer than tracing a rule. What is under it traces the same
    program; how it returns captured arrays differs between versions of JAX, so a function with some is left to
    `make_jaxpr`.
    """
    leaves, tree = jax.tree_util.tree_flatten(tuple(specs))
    out_tree: Any = None

    def flat(*values: Any) -> list[Any]:
        nonlocal out_tree
        out, out_tree = jax.tree_util.tree_flatten(fn(*jax.tree_util.tree_unflatten(tree, values)))
        return out

    avals = [api_util.shaped_abstractify(x) for x in leaves]
    jaxpr, _, consts = partial_eval.trace_to_jaxpr_dynamic(linear_util.wrap_init(flat, debug_info=_UNNAMED), avals)
    if not consts:
        return jaxpr, (), out_tree
    closed, out = jax.make_jaxpr(fn, return_shape=True)(*specs)
    return jaxpr_of(closed), closed.consts, jax.tree_util.tree_structure(out)
