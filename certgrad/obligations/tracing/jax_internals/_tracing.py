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
    os.path.join(folder, "")  # with a separator, as other packages beside these begin with their names (jaxopt)
    for folder in (
        *(os.path.dirname(m.__file__) for m in (jax, np, os) if m.__file__),
        *(os.path.join(_PACKAGES, name) for name in ("opt_einsum", "jaxlib", "jaxtyping")),
    )
)
"""Folders of code that is trusted to treat dimensions uniformly: JAX, numpy, the standard library, opt_einsum, jaxlib,
and jaxtyping, which compares sizes with each other and raises."""


_OUTSIDE = os.path.join(os.path.dirname(os.__file__), "site-packages", "")


_TRACING = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_SIGNATURES = os.path.join(os.path.dirname(signatures.__file__), "")


@lru_cache(maxsize=1024)
def _asker(file: str) -> str:
    """Return "library" or "rule" for the file of the code that asks about a dimension (see `Decision`)."""
    if file.startswith(_SIGNATURES):  # it asks whether a call of an op fits its signature, and can only refuse the call
        return "library"
    if file.startswith(_TRACING):  # it reads programs, and is no part of a rule
        return "library"
    return "library" if from_library(file) else "rule"


@lru_cache(maxsize=1024)
def asks_for_others(file: str) -> bool:
    """Return whether a file is of the standard library or numpy: their questions about a size are their callers'."""
    if file.startswith("<frozen "):
        return True
    return from_library(file) and not file.startswith((_LIBRARIES[0], *_LIBRARIES[3:]))


@lru_cache(maxsize=4096)
def from_library(file: str) -> bool:
    """Return whether a file is of a library in `_LIBRARIES`; the standard library's folder without site-packages."""
    if file.startswith((*_LIBRARIES[:2], *_LIBRARIES[3:])):
        return True
    return file.startswith(_LIBRARIES[2]) and not file.startswith(_OUTSIDE)


_NEVER_A_NUMBER = (DimExpr, type(None), str, bytes, tuple, list, dict, set, frozenset, type)
_TEXTS = frozenset({"__str__", "__repr__", "__format__"})
"""Methods that Python calls where code asks an object for its text."""
MOST_AXES = 6
"""The highest rank at which arrays of open rank are traced."""
_OF_TYPES = frozenset(
    f.__code__
    for f in (getattr(member, "__func__", member) for member in vars(ShapedArray).values())
    if isinstance(f, FunctionType)
)
"""Code of the methods of the type of an array. Types are interned, so that a call in them may look a shape up in a
table."""


def _by_chance(frame: Any) -> bool:
    """Return whether a comparison in this frame is made by a hash table, between keys that share a bucket by chance.

    Such a comparison depends on what was traced before, and is no question of code. It is made in C, so that the frame
    stands at a call, which is of a method of an array's type (`_OF_TYPES`), or of JAX's code that looks up a key whose
    `__eq__` is around this frame. A comparison in the code itself is no call.
    """
    if frame.f_code in _OF_TYPES:
        return _calls(frame)
    key = frame
    while frame is not None and frame.f_code.co_name in ("__eq__", "__ne__") and from_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not key and frame is not None and from_library(frame.f_code.co_filename) and _calls(frame)


def _calls(frame: Any) -> bool:
    """Return whether a frame stands at an instruction that calls something."""
    code = frame.f_code
    return dis.opname[code.co_code[frame.f_lasti]].startswith("CALL")


@one_at_a_time
def recorded_decisions() -> Iterator[list[tuple[Any, Any, str]]]:
    """Record each question about sizes to which JAX's symbols give an answer that does not hold for all sizes.

    Yields a list that fills with triples (size, what it was compared with, who asked: "rule" or "library"): for each
    comparison answered by "different" and each truth test; and, with None in the middle, for each hash, text, missing
    attribute or failed order comparison that a rule asks for. An order that JAX decides holds for all sizes. Questions
    of other threads are answered, and not recorded. For this the methods of sizes and of array types are replaced.

    JAX also asks each size of a shape for its integer, and keeps the error that a symbolic size raises in the frame
    that caught it: a reference cycle that keeps all frames of the trace, and their values, until it is collected. Here
    a symbolic size is returned as it is, as JAX does after the error.
    """
    record: list[tuple[Any, Any, str]] = []
    thread = get_ident()
    eq, ne, hashed, truth = DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__, getattr(DimExpr, "__bool__", None)
    text, shown = DimExpr.__str__, DimExpr.__repr__

    def asker(frame: Any = None) -> str:
        """Return who asks, "rule" or "library": the standard library and numpy ask for their callers."""
        frame = frame or sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if file == "<string>":
                # Generated code, as the methods of a dataclass: it belongs to the module of its global variables.
                file = str(frame.f_globals.get("__file__", ""))
            if not asks_for_others(file):
                return _asker(file)
            frame = frame.f_back
        return "library"

    def compared(a: Any, b: Any, who: str) -> tuple[Any, ...]:
        """Return the other side `b` of a comparison with a size `a`, in a tuple, as a size or a whole number.

        Return () where no size can be equal to it, and (None,) where it has several values, or is of a class that may
        compare as it likes.
        """
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
        return (None,)  # a class of the rule's compares as it likes

    def recording(compare: Callable, different: bool) -> Callable:
        """Return `__eq__` or `__ne__` of sizes that records where its answer is `different`, which means not equal."""

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
            record.append((self, None, "rule"))  # a number has the attribute: code may go on otherwise without it
        raise AttributeError(f"a symbolic size has no attribute {name!r}")

    def asker_through(*methods: str) -> str:
        """Return who asks through these methods of objects of JAX's that hold a size, as a type does."""
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
        """Return who asks for a text of a size, or of an object of JAX's that holds it; JAX's own use is "library"."""
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
        """Return an order comparison of sizes that records where JAX raises, as it cannot decide."""

        def order(self: Any, other: Any) -> bool:
            try:
                return compare(self, other)
            except Exception:
                if get_ident() == thread and asker() == "rule":
                    record.append((self, None, "rule"))  # the code may catch the error and go on
                raise

        return order

    def same_type(self: Any, other: Any) -> Any:
        """Compare types of arrays by identity, as they are interned, so that no size is asked.

        Only where a rule compares two types, the comparisons of their sizes are recorded.
        """
        if self is other or type(other) is not ShapedArray:
            return self is other or NotImplemented
        sizes = [(a, b) for a, b in zip(self.shape, other.shape, strict=False) if DimExpr in (type(a), type(b))]
        if sizes and self.dtype == other.dtype and get_ident() == thread and asker() == "rule":
            if len(self.shape) == len(other.shape):
                record.extend(
                    (*((a, b) if type(a) is DimExpr else (b, a)), "rule") for a, b in sizes if eq(a, b) is False
                )
            elif max(len(self.shape), len(other.shape)) > MOST_AXES:
                record.append((sizes[0][0], None, "rule"))  # nothing is traced at such a rank
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

    What that code goes on to ask is asked of the symbolic size, and recorded. `is_constant_dim` and `is_symbolic_dim`
    of JAX get other code objects in the context: so they answer by whatever name a rule imported them.
    """
    if (
        f"_certgrad_{_core.is_constant_dim.__name__}" in _core.is_constant_dim.__globals__
    ):  # inside another such context
        yield
        return
    thread = get_ident()

    def answering(own: Any, answer: bool) -> Callable[[Any, Any], bool]:
        """Return a function of a size and the caller's frame: `answer` for a rule's symbolic size, else as `own`."""
        plain = FunctionType(own.__code__, own.__globals__, own.__name__)

        def answered(size: Any, frame: Any) -> bool:
            symbolic = type(size) is DimExpr and get_ident() == thread
            return answer if symbolic and _asker(frame.f_code.co_filename) == "rule" else plain(size)

        return answered

    functions = [(_core.is_constant_dim, True), (_shape_poly.is_symbolic_dim, False)]
    before = [(own, own.__code__) for own, _ in functions]
    for own, answer in functions:
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
"""Functions whose code replaces that of JAX's; it finds the answering function among the globals of JAX's module."""


_SHARED_SCOPE = export.SymbolicScope()


def symbols(names: Sequence[str], constraints: Sequence[str] = (), shared: bool = False) -> dict[str, Any]:
    """Return symbolic dimensions with these names, in one scope. Each is at least 1.

    `shared` dimensions are equal whenever their names are, so that JAX finds earlier traces in its caches. That is five
    times faster, and hides the questions about dimensions that a cached function asked. They take no `constraints`.
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
    """Trace with 64-bit numbers in the context, or 32-bit ones if not `on`, whatever the caller's configuration."""
    with jax.enable_x64(on):
        yield


_memory = jax.make_user_context()
_memories = count()


def unremembered() -> Any:
    """Return a context in which JAX's caches are empty, as they have other entries for each context."""
    return _memory(next(_memories))


def _named_blocks() -> AbstractContextManager[None]:
    """Return a context in which Pallas kernels may be called with symbolic sizes, if Pallas is loaded."""
    pallas = sys.modules.get("jax._src.pallas.core")
    return pallas.pallas_export_experimental(dynamic_shapes=True) if pallas else nullcontext()


def _whole_tracebacks() -> AbstractContextManager[None]:
    """Return a context in which JAX does not filter its own frames out of tracebacks.

    For this it asks the file system about each frame, which takes longer than a trace; and of an error in a trace only
    the message is read.
    """
    return _config.traceback_filtering("off")


@contextmanager
def _tracing() -> Iterator[list[Any]]:
    """Set up all contexts in which a rule is traced; yields the record of `recorded_decisions`."""
    with (
        recorded_decisions() as record,
        sizes_as_constants(),
        arithmetic_of_dimensions(from_library),
        _named_blocks(),
        _whole_tracebacks(),
    ):
        yield record


def trace(fn: Callable, specs: Sequence[Any]) -> Program:
    """Return the program of `fn` at abstract arguments, with the decisions on dimensions that tracing took.

    Mutable references become values, and complex numbers pairs of reals, where the program can be read so.
    """
    with _tracing() as record:
        jaxpr, consts, tree = _jaxpr(fn, specs)
        asked_by_code = len(record)
        plain, place = without_mark(jaxpr)
        jaxpr, consts = _of_reals(*_of_values(plain, consts), specs)
        del record[asked_by_code:]  # these questions were asked in reading the program, and not by the code
    pairs = {(str(a), str(b), asker): (a, b) for a, b, asker in record}
    decisions = {
        Decision(None if b is None else dim_poly(a) - dim_poly(b), asker): None
        for (_, _, asker), (a, b) in pairs.items()
    }
    return Program(jaxpr, consts, tree, tuple(decisions), place if jaxpr is plain else None)


def trace_or_failure(fn: Callable, specs: Sequence[Any]) -> tuple[Any, Exception | None, list[Poly]]:
    """Return the jaxpr of `fn`, None and []; or None, the error, and the differences of sizes taken for nonzero.

    Code that wants two sizes to be equal compares them and raises: so the last difference of a failed trace says which
    sizes have to be equal.
    """
    with _tracing() as record:
        try:
            return _jaxpr(fn, specs)[0], None, []
        except Exception as error:
            failure, questions = error, list(record)
    return None, failure, [dim_poly(a) - dim_poly(b) for a, b, _ in questions if b is not None]


def _of_values(jaxpr: Any, consts: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Return a program without the mutable references that it makes for itself; as it is where it has none, or shares
    one.
    """
    program = without_references(ClosedJaxpr(jaxpr, consts))
    return (jaxpr, consts) if program is None else (jaxpr_of(program), program.consts)


def _of_reals(jaxpr: Any, consts: Sequence[Any], specs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Return a program with pairs of reals for complex numbers.

    It is returned as it is where it has none, or where a primitive has no meaning on pairs.
    """
    if not _complex.has_complex(jaxpr):
        return jaxpr, consts
    with suppress(_complex.NoPairsError):
        jaxpr, consts, _ = _jaxpr(_complex.on_pairs(Program(jaxpr, consts)), jax.tree_util.tree_leaves(tuple(specs)))
    return jaxpr, consts


_UNNAMED = api_util.debug_info("trace", lambda: None, (), {})._replace(arg_names=None)
"""Debug information without names of arguments: of JAX's errors only the first line is shown, which names none."""


def abstract(shape: Sequence[Any], dtype: Any, weak: bool = False) -> Any:
    """Return an abstract argument of a trace; unlike a ShapeDtypeStruct it may be used in several traces as it is."""
    mesh = jax.sharding.get_abstract_mesh()
    along = mesh.axis_names[:1] if shape and AxisType.Explicit in mesh.axis_types else ()
    sharding = None if mesh.empty else jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*along))
    return api_util.shaped_abstractify(jax.ShapeDtypeStruct(tuple(shape), dtype, weak_type=weak, sharding=sharding))


def _jaxpr(fn: Callable, specs: Sequence[Any]) -> tuple[Any, Sequence[Any], Any]:
    """Return the jaxpr of `fn`, its constants and the tree of its outputs, as `jax.make_jaxpr` gives them.

    `make_jaxpr` goes through all of `jit`, which takes longer than tracing a rule. The function below it traces the
    same program, but returns captured arrays in other ways in other versions of JAX. So it is used first, and
    `make_jaxpr` for functions that capture arrays.
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
