"""Everything here that touches JAX's internals: tracing at symbolic dimensions, and reading jaxprs.

Supports jax 0.10 (ClosedJaxpr) and 0.11 (one Jaxpr class). The rest of the kernel sees only `Program`, `Equation` and
dimensions as polynomials.
"""

from __future__ import annotations

import importlib
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from jax import api_util, export
from jax._src import source_info_util as _source_info
from jax._src.export import shape_poly as _shape_poly
from jax._src.lax import linalg as _linalg
from jax._src.numpy import linalg as _dense
from jax.extend import core as jex
from jax.extend import linear_util
from jax.interpreters import partial_eval

from certgrad.errors import TraceError

from ._jax_dimensions import arithmetic_of_dimensions, number_of
from ._terms import ONE, ZERO, Poly, dimension, memo, number

DimExpr: Any = _shape_poly._DimExpr
_LIBRARIES = tuple(os.path.dirname(m.__file__) for m in (jax, np, os) if m.__file__) + (
    os.path.join(os.path.dirname(os.path.dirname(jax.__file__)), "opt_einsum"),
)
"""Folders of code that is trusted to treat dimensions uniformly: JAX, numpy, opt_einsum, the standard library."""
_OUTSIDE = os.path.join(os.path.dirname(os.__file__), "site-packages")
CALLS = frozenset(
    "jit pjit closed_call core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr checkpoint remat remat2 "
    "composite custom_vmap_call linear_call remat_opt".split()
)
"""Primitives that run an inner program on their operands."""
_INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "callee", "fwd_jaxpr")
"""The parameters, one a primitive, that hold an inner program; their names differ between versions of JAX."""


@dataclass
class Program:
    """A traced program: a jaxpr with its constants, and the decisions on dimensions that tracing took unproved."""

    jaxpr: Any
    consts: Sequence[Any]
    out_tree: Any = None
    decisions: tuple[Decision, ...] = ()


@lru_cache(maxsize=1024)
def _asker(file: str) -> str:
    if not from_library(file):
        return "rule"
    return "linalg" if os.path.basename(file) == "linalg.py" else "library"


def from_library(file: str) -> bool:
    """A file of JAX's, numpy's or Python's own, or of this package's but for its ops."""
    if file.startswith((*_LIBRARIES[:2], _LIBRARIES[3])):
        return True
    return file.startswith(_LIBRARIES[2]) and not file.startswith(_OUTSIDE)


@dataclass(frozen=True)
class Decision:
    """A question about dimensions that Python answered while tracing: the answer held for symbols, unproved.

    `difference` was taken to be nonzero; it is None where a dimension was hashed, printed or ordered in vain,
    which asks no question that could be answered otherwise. `asker` is `rule`; `linalg` where JAX's linear algebra
    asked, which has formulas of its own for some sizes; `library` where other code of JAX did: it asks in every
    broadcast, and each time that one of its caches compares two keys.
    """

    difference: Poly | None
    asker: str

    @property
    def by_library(self) -> bool:
        """JAX's own code asked."""
        return self.asker != "rule"


@contextmanager
def recorded_decisions() -> Iterator[list[tuple[Any, Any, str]]]:
    """Record each comparison that JAX answers "different", each truth test and, from outside JAX, each hash.

    Order comparisons need no record: JAX raises where it cannot decide them.
    """
    record: list[tuple[Any, Any, str]] = []
    eq, ne, hashed, truth = DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__, getattr(DimExpr, "__bool__", None)
    text, shown = DimExpr.__str__, DimExpr.__repr__

    def asker() -> str:
        frame = sys._getframe(2)
        file = frame.f_code.co_filename
        if file == "<string>":  # generated, as the methods of a dataclass are: it belongs to the module of its names
            file = str(frame.f_globals.get("__file__", ""))
        return _asker(file)

    def comparable(a: Any, b: Any) -> bool:
        return isinstance(b, int) or (type(b) is DimExpr and b.scope is a.scope)

    def record_eq(self: Any, other: Any) -> Any:
        answer = eq(self, other)
        if answer is False and comparable(self, other):
            record.append((self, other, asker()))
        return answer

    def record_ne(self: Any, other: Any) -> Any:
        answer = ne(self, other)
        if answer is True and comparable(self, other):
            record.append((self, other, asker()))
        return answer

    def record_hash(self: Any) -> int:
        if asker() == "rule":
            record.append((self, None, "rule"))
        return hashed(self)

    def record_text(self: Any) -> str:
        if asker() == "rule":
            record.append((self, None, "rule"))
        return text(self)

    def record_bool(self: Any) -> bool:
        record.append((self, 0, asker()))
        return truth(self) if truth is not None else True

    def recording_order(compare: Callable) -> Callable:
        def order(self: Any, other: Any) -> bool:
            try:
                return compare(self, other)
            except Exception:
                if asker() == "rule":
                    record.append((self, None, "rule"))  # the code may go on as if it had been answered
                raise

        return order

    orders = {name: getattr(DimExpr, name) for name in ("__lt__", "__le__", "__gt__", "__ge__")}
    try:
        for name, compare in orders.items():
            setattr(DimExpr, name, recording_order(compare))
        DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__, DimExpr.__bool__ = (
            record_eq,
            record_ne,
            record_hash,
            record_bool,
        )
        DimExpr.__str__ = DimExpr.__repr__ = record_text
        yield record
    finally:
        for name, compare in orders.items():
            setattr(DimExpr, name, compare)
        DimExpr.__str__, DimExpr.__repr__ = text, shown
        DimExpr.__eq__, DimExpr.__ne__, DimExpr.__hash__ = eq, ne, hashed
        if truth is None:
            del DimExpr.__bool__
        else:
            DimExpr.__bool__ = truth


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


def trace(fn: Callable, specs: Sequence[Any]) -> Program:
    """The jaxpr of `fn` at abstract arguments, without running it."""
    with recorded_decisions() as record, arithmetic_of_dimensions(from_library):
        jaxpr, consts, tree = _jaxpr(fn, specs)
    pairs = {(str(a), str(b), asker): (a, b) for a, b, asker in record}
    decisions = {
        Decision(None if b is None else dim_poly(a) - dim_poly(b), asker): None
        for (_, _, asker), (a, b) in pairs.items()
    }
    return Program(jaxpr, consts, tree, tuple(decisions))


_UNNAMED = api_util.debug_info("trace", lambda: None, (), {})._replace(arg_names=None)
"""Messages of JAX's errors need not name arguments: only their first line is shown."""


def abstract(shape: Sequence[Any], dtype: Any, weak: bool = False) -> Any:
    """An argument of a trace. Unlike a ShapeDtypeStruct it is taken as it is in each of several traces."""
    return api_util.shaped_abstractify(jax.ShapeDtypeStruct(tuple(shape), dtype, weak_type=weak))


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


def jaxpr_of(closed: Any) -> Any:
    """The open jaxpr of a closed one (the same object where JAX has one class for both)."""
    return getattr(closed, "jaxpr", closed)


def inner_program(eqn: Any) -> Program | None:
    """The program that a call-like equation runs."""
    if eqn.primitive.name not in CALLS:
        return None
    held = [eqn.params[key] for key in _INNER if key in eqn.params]
    return program_of(held[0]) if len(held) == 1 else None


def program_of(closed: Any) -> Program:
    """A closed jaxpr as a program."""
    return Program(jaxpr_of(closed), getattr(closed, "consts", ()))


@dataclass(frozen=True)
class LuSolve:
    """What JAX's LU solver does: with the matrix or its transpose, along `axis` of its right-hand side.

    `batch` says which axis of the right-hand side each batch axis of the factors belongs to.
    """

    transposed: bool
    axis: int
    batch: tuple[int, ...]


def lu_solve(closed: Any) -> LuSolve | None:
    """Recognise JAX's own LU solver: the program is the one that JAX makes of it, under any number of `vmap`s."""
    program = program_of(closed)
    avals = [v.aval for v in program.jaxpr.invars]
    if len(avals) != 3 or len(avals[0].shape) < 2 or not avals[2].shape:
        return None
    text = serialised(program)
    axis, count = len(avals[2].shape) - 1, len(avals[0].shape) - 2
    for transposed in (False, True):
        for batch in itertools.combinations(range(axis), count):
            if [avals[0].shape[k] for k in range(count)] != [avals[2].shape[k] for k in batch]:
                continue
            solver = partial(_lu_solve, transposed)
            for k in reversed(range(axis)):
                solver = jax.vmap(solver, (0, 0, 0) if k in batch else (None, None, 0))
            specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
            with wide_floats(avals[0].dtype == np.float64):
                same = serialised(program_of(jax.make_jaxpr(solver)(*specs))) == text
            if same:
                return LuSolve(transposed, axis, batch)
    return None


_UNWRAPPED = {f: getattr(f, "__wrapped__") for f in (_dense.slogdet, _dense.det)}  # noqa: B009 (without their `jit`)
_library_texts: dict[tuple[str, str], str] = {}


def is_slogdet(eqn: Any) -> bool:
    """JAX's own sign and logarithm of a determinant: the program is the one that JAX makes of it."""
    if eqn.primitive.name != "custom_jvp_call" or not _of_a_matrix(eqn, 2):
        return False
    return _is_library(_dense.slogdet, eqn.invars[0].aval, eqn.params["call_jaxpr"])


def is_det(eqn: Any) -> bool:
    """JAX's own determinant, recognised in the same way."""
    if eqn.primitive.name not in ("jit", "pjit") or not _of_a_matrix(eqn, 1):
        return False
    return _is_library(_dense.det, eqn.invars[0].aval, eqn.params["jaxpr"])


def _of_a_matrix(eqn: Any, outputs: int) -> bool:
    """The equation makes so many numbers of each square matrix."""
    if len(eqn.invars) != 1 or len(eqn.outvars) != outputs:
        return False
    aval = eqn.invars[0].aval
    shape: Any = getattr(aval, "shape", ())
    square = len(shape) >= 2 and shape[-1] == shape[-2] and aval.dtype in (np.float32, np.float64)
    return square and all(tuple(v.aval.shape) == tuple(shape[:-2]) for v in eqn.outvars)


def _is_library(function: Any, aval: Any, closed: Any) -> bool:
    """The program is what JAX makes of the function, below its `jit` and the custom rule that is all there is below."""
    key = (function.__name__, str(aval))
    if key not in _library_texts:
        with wide_floats(aval.dtype == np.float64):
            traced: Any = jax.make_jaxpr(_UNWRAPPED[function])(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
        equations = jaxpr_of(traced).eqns
        if function is _dense.slogdet:
            traced = equations[0].params["call_jaxpr"] if len(equations) == 1 else None
        _library_texts[key] = serialised(program_of(traced)) if traced is not None else ""
    return bool(_library_texts[key]) and serialised(program_of(closed)) == _library_texts[key]


def _lu_solve(transposed: bool, factors: Any, permutation: Any, b: Any) -> Any:
    return _linalg.lu_solve(factors, permutation, b, trans=int(transposed))


def of_equation(eqn: Any) -> Program:
    """The program that consists of one equation."""
    seen = dict.fromkeys(v for v in eqn.invars if not is_literal(v))
    return Program(SimpleNamespace(invars=list(seen), constvars=[], eqns=[eqn], outvars=list(eqn.outvars)), [])


def is_literal(atom: Any) -> bool:
    return isinstance(atom, jex.Literal)


def is_dropped(var: Any) -> bool:
    return type(var).__name__ == "DropVar"


def live_equations(jaxpr: Any, needed: Sequence[bool]) -> list[tuple[Any, list[bool]]]:
    """The equations that the needed outputs depend on, in order, each with which of its outputs are needed."""
    wanted = {v for v, n in zip(jaxpr.outvars, needed, strict=True) if n and not is_literal(v)}
    kept: list[tuple[Any, list[bool]]] = []
    for eqn in reversed(jaxpr.eqns):
        use = [not is_dropped(v) and v in wanted for v in eqn.outvars]
        if not any(use):
            continue
        kept.append((eqn, use))
        inputs = [v for v, u in zip(eqn.invars, used_inputs(eqn, use), strict=True) if u]
        wanted.update(v for v in inputs if not is_literal(v))
    return kept[::-1]


def live_inputs(jaxpr: Any, needed: Sequence[bool]) -> list[bool]:
    """Which inputs the needed outputs depend on."""
    used = {v for v, n in zip(jaxpr.outvars, needed, strict=True) if n and not is_literal(v)}
    for eqn, use in live_equations(jaxpr, needed):
        inputs = [v for v, u in zip(eqn.invars, used_inputs(eqn, use), strict=True) if u]
        used.update(v for v in inputs if not is_literal(v))
    return [v in used for v in jaxpr.invars]


def used_inputs(eqn: Any, use: Sequence[bool]) -> list[bool]:
    """Which operands of an equation its needed outputs depend on."""
    inner = inner_program(eqn)
    if inner is not None and len(inner.jaxpr.invars) == len(eqn.invars):
        return live_inputs(inner.jaxpr, use)
    if eqn.primitive.name == "cond":
        branches = [live_inputs(b.jaxpr, use) for b in branch_programs(eqn)]
        return [True, *(any(used) for used in zip(*branches, strict=True))]
    if eqn.primitive.name == "scan":
        loop = scan_loop(eqn)
        needed = loop.live_outputs(use)
        starts = [False] * loop.consts + needed[: loop.carries]  # a carry has a start, read or not
        used = live_inputs(loop.body.jaxpr, needed)
        return [u or (k < len(starts) and starts[k]) for k, u in enumerate(used)]
    return [True] * len(eqn.invars)


def nested_primitives(jaxpr: Any) -> set[str]:
    """The names of all primitives of a program and of the programs in its parameters."""
    found: set[str] = set()
    for eqn in jaxpr.eqns:
        found.add(eqn.primitive.name)
        for value in eqn.params.values():
            for part in value if isinstance(value, (tuple, list)) else (value,):
                inner = jaxpr_of(part)
                if hasattr(inner, "eqns"):
                    found |= nested_primitives(inner)
    return found


def primal_body(closed: Any) -> Program:
    """The program inside, where all that a program does is to call one custom function: without the custom rule."""
    program = program_of(closed)
    while len(program.jaxpr.eqns) == 1:
        (eqn,) = program.jaxpr.eqns
        inner = inner_program(eqn)
        same = list(eqn.invars) == list(program.jaxpr.invars) and list(eqn.outvars) == list(program.jaxpr.outvars)
        if inner is None or not same:
            break
        program = inner
    return program


def evaluate(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], seen: Callable[[Any, list], list]) -> list[Any]:
    """Run a program, called programs inlined; `seen(equation, outputs)` may replace what an equation gives.

    A custom function with a rule in forward mode keeps it; of one in reverse mode its primal function runs.
    """
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=False)) | dict(
        zip(jaxpr.invars, args, strict=True)
    )

    def read(atom: Any) -> Any:
        return atom.val if is_literal(atom) else values[atom]

    for eqn in jaxpr.eqns:
        operands = [read(v) for v in eqn.invars]
        inner = inner_program(eqn) if eqn.primitive.name not in ("custom_jvp_call", "custom_lin") else None
        if inner is not None:
            outs = evaluate(inner.jaxpr, inner.consts, operands, seen)
        else:
            found = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
            outs = seen(eqn, list(found) if eqn.primitive.multiple_results else [found])
        values |= dict(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def source_line(eqn: Any) -> tuple[str, int]:
    """File and line of the user's code that made an equation; an empty file where that is not known."""
    frame = _source_info.user_frame(eqn.source_info.traceback)
    return (frame.file_name, frame.start_line) if frame is not None else ("", 0)


def branch_programs(eqn: Any) -> list[Program]:
    """The branches of a `cond`, the one for index 0 first."""
    return [Program(jaxpr_of(b), getattr(b, "consts", ())) for b in eqn.params["branches"]]


@dataclass(frozen=True)
class ScanLoop:
    """A `scan`: its body takes constants, carries and rows, and returns carries and rows."""

    body: Program
    consts: int
    carries: int
    length: Any
    reverse: bool

    def live_outputs(self, use: Sequence[bool]) -> list[bool]:
        """Which outputs of the body the needed outputs of the scan depend on, through any number of steps."""
        return _live_through_steps(self.body.jaxpr, self.consts, self.carries, use)


@dataclass(frozen=True)
class WhileLoop:
    """A `while`: its test and its body take constants of their own, and the carries."""

    test: Program
    body: Program
    test_consts: int
    body_consts: int

    def live_outputs(self, use: Sequence[bool]) -> list[bool]:
        """Which carries the needed ones depend on, through any number of steps."""
        return _live_through_steps(self.body.jaxpr, self.body_consts, len(use), use)


def _live_through_steps(body: Any, consts: int, carries: int, use: Sequence[bool]) -> list[bool]:
    needed = list(use)
    while True:
        carried = live_inputs(body, needed)[consts : consts + carries]
        more = [n or c for n, c in zip(needed, [*carried, *[False] * len(needed)], strict=False)]
        if more == needed:
            return needed
        needed = more


@dataclass(frozen=True)
class MarkedSolver:
    """A call of a solver that is marked by `certgrad.solves`: both programs, and which operands each takes."""

    name: str
    solver: Program
    residual: Program
    counts: tuple[int, int]
    shape: tuple[Poly, ...]

    def of_solver(self, operands: Sequence[Any]) -> list[Any]:
        """The operands that the solver takes."""
        first, second = self.counts
        return [*operands[:first], *operands[first + second :]]

    def of_residual(self, operands: Sequence[Any], unknown: Any) -> list[Any]:
        """What the residual takes, at a value of the unknown."""
        return [unknown, *operands[self.counts[0] :]]


def marked_solver(eqn: Any) -> MarkedSolver:
    """The parts of a `certgrad_solution` equation."""
    p = eqn.params
    shape = shape_polys(eqn.outvars[0].aval)
    return MarkedSolver(p["called"], program_of(p["solver"]), program_of(p["residual"]), p["counts"], shape)


def while_loop(eqn: Any) -> WhileLoop:
    """The parts of a `while` equation."""
    p = eqn.params
    test, body = (Program(jaxpr_of(p[k]), getattr(p[k], "consts", ())) for k in ("cond_jaxpr", "body_jaxpr"))
    return WhileLoop(test, body, p["cond_nconsts"], p["body_nconsts"])


def scan_loop(eqn: Any) -> ScanLoop:
    """The parts of a `scan` equation (jax 0.11 counts its operands by trees)."""
    p = eqn.params
    if "num_consts" in p:
        consts, carries = p["num_consts"], p["num_carry"]
    else:
        consts, carries = (len(part) for part in p["ft_in"].unpack()[:2])
    body = Program(jaxpr_of(p["jaxpr"]), getattr(p["jaxpr"], "consts", ()))
    return ScanLoop(body, consts, carries, p["length"], bool(p["reverse"]))


def dim_poly(dim: Any) -> Poly:
    """A dimension, symbolic or not, as a polynomial."""
    if not isinstance(dim, DimExpr):
        return number(int(dim))
    total = ZERO
    for term, count in dim._sorted_terms:
        product = ONE
        for factor, power in term._factors:
            if factor.var is not None:
                atom = dimension(factor.var)
            else:
                atom = dimension(str(factor), positive=_lower_bound(factor, dim) >= 1)
            product = product * atom**power
        total = total + product.scale(count)
    return total


def _lower_bound(factor: Any, dim: Any) -> float:
    expr = DimExpr._from_term(_shape_poly._DimTerm.from_factor(factor, 1), 1, dim.scope)
    return _shape_poly._bounds_decision(expr, _shape_poly.BoundsPrecision.BEST)[0]


def shape_polys(aval: Any) -> tuple[Poly, ...]:
    return tuple(dim_poly(d) for d in aval.shape)


def literal_value(value: Any) -> Fraction | None:
    """A number as it was meant: the shortest decimal that rounds to it. None for infinities and NaN."""
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return Fraction(int(array))
    if array.dtype.kind == "c":
        raise TypeError("complex")
    if not np.isfinite(array):
        return None
    text = repr(float(array)) if array.dtype == np.float64 else str(array[()])
    return Fraction(text)


@lru_cache(maxsize=64)
def kind_of(dtype: Any) -> str:
    """`f`, `i`, `b`, `c` for float, integer, boolean, complex; `0` for JAX's float0; `k` for random keys; else `?`."""
    if dtype == jax.dtypes.float0:
        return "0"
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return "k"
    for kind, types in (("f", np.floating), ("i", np.integer), ("c", np.complexfloating), ("b", np.bool_)):
        if jax.dtypes.issubdtype(dtype, types):
            return kind
    return "?"


def primitives_with_rules() -> list[str]:
    """The names of the primitives that have a JVP or a transpose rule in the installed JAX, its submodules imported."""
    from jax._src.interpreters import ad

    for module in ("jax.experimental.sparse", "jax.scipy.linalg", "jax.scipy.special", "jax.experimental.shard_map"):
        with suppress(ImportError):
            importlib.import_module(module)
    found = {p for table in (ad.primitive_jvps, ad.primitive_transposes) for p in table}
    names = {p.name for p in found if genuine(p)}  # other packages register primitives of their own
    return sorted(n for n in names if not n.startswith("certgrad_"))  # an op's tangent is a primitive of our own


_OWN: set[int] = set()
"""The primitives that modules of JAX and of certgrad hold, by identity; they live as long as the process."""


def genuine(primitive: Any) -> bool:
    """The primitive is JAX's own, or certgrad's. Another may carry the name of one, and mean something else."""
    if id(primitive) not in _OWN:
        loaded = [(name.partition(".")[0], m) for name, m in list(sys.modules.items()) if m is not None]
        modules = [m for top, m in loaded if top in ("jax", "certgrad")]
        _OWN.update(id(x) for m in modules for x in list(vars(m).values()) if isinstance(x, jex.Primitive))
    return id(primitive) in _OWN


def primitives_of(program: Program) -> set[str]:
    """The names of the primitives that a program runs, those of programs inside it too."""
    found: set[str] = set()
    stack = [program.jaxpr]
    while stack:
        for eqn in stack.pop().eqns:
            found.add(eqn.primitive.name)
            for value in eqn.params.values():
                parts = value if isinstance(value, (tuple, list)) else (value,)
                stack += [jaxpr_of(v) for v in parts if hasattr(jaxpr_of(v), "eqns")]
    return found


def bits_of(dtype: Any) -> int:
    """The width of an integer type."""
    return int(jax.numpy.iinfo(dtype).bits)


def bits_function(name: str, dtype: str, args: Sequence[int]) -> int:
    """A lax function of machine integers, computed by JAX."""
    with jax.enable_x64(True):
        return int(getattr(jax.lax, name)(*(np.asarray(k, dtype) for k in args)))


# --- serialisation: the identity of a program ----------------------------------------------------------------------


def serialised(
    program: Program, dims: Callable[[Any], str] = str, erase_dtypes: bool = False, fold_sizes: bool = False
) -> str:
    """A canonical text of a program, nested programs and constants included; variables are numbered in order.

    With `fold_sizes`, equations that only make a number of a dimension are written as that number.
    `dims` renders dimensions. With `erase_dtypes`, dtypes are left out and float literals are rounded to float32.
    """
    return Serialiser(dims, erase_dtypes, fold_sizes).program(program)


def serialised_all(
    programs: Mapping[str, Program],
    dims: Callable[[Any], str] = str,
    erase_dtypes: bool = False,
    fold_sizes: bool = False,
) -> dict[str, str]:
    """The texts of several programs, as `serialised` writes each."""
    serialiser = Serialiser(dims, erase_dtypes, fold_sizes)
    return {name: serialiser.program(p) for name, p in programs.items()}


_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")


class Serialiser:
    """Writes programs as text; subclasses choose how dimensions and parameters are written.

    What is written often (a dimension, a type, an inner program) is remembered by object, which lives as long.
    """

    IGNORED = frozenset(
        "name sharding out_sharding weak_type inline keep_unused donated_invars ctx_mesh jvp_jaxpr_fun fwd bwd".split()
    )

    def __init__(self, dims: Callable[[Any], str], erase: bool, fold: bool = False) -> None:
        self.render, self.erase, self.fold = dims, erase, fold
        self.rendered: dict[int, tuple[Any, str]] = {}
        self.types: dict[int, tuple[Any, str]] = {}
        self.others: dict[int, tuple[Any, str]] = {}

    def dims(self, dim: Any) -> str:
        """One dimension as text."""
        return remembered(self.rendered, dim, self.render)

    def program(self, program: Program) -> str:
        names: dict[Any, str] = {}
        numbers: dict[Any, float] = {}
        count = itertools.count()
        aval = self.aval

        def name(v: Any) -> str:
            if isinstance(v, _LITERAL):
                return self.literal(v)
            found = names.get(v)
            if found is None:
                found = names[v] = f"v{next(count)}"
            return found

        def folded(eqn: Any) -> str | None:
            """Sizes as literals: a symbolic size is an equation, a concrete one is a number in the program."""
            if eqn.primitive.name == "dim_as_value":
                return f"lit({self.dims(eqn.params['dim'])})"
            if eqn.primitive.name == "convert_element_type" and not eqn.outvars[0].aval.shape:
                source = name(eqn.invars[0])
                if source.startswith("lit(") and kind_of(eqn.params["new_dtype"]) == "f":
                    if eqn.invars[0] in numbers:
                        numbers[eqn.outvars[0]] = numbers[eqn.invars[0]]
                    return f"lit({source[4:-1].removesuffix('.0')})"
            if len(eqn.outvars) == 1 and not eqn.outvars[0].aval.shape and kind_of(eqn.outvars[0].aval.dtype) == "f":
                operands = [number(v) for v in eqn.invars]
                if all(x is not None for x in operands):
                    value = number_of(eqn.primitive.name, operands, eqn.params)  # type: ignore[arg-type]
                    if value is not None:
                        numbers[eqn.outvars[0]] = value
                        shown = str(np.float32(value)) if self.erase else repr(value)
                        return f"lit({shown.removesuffix('.0')})"
            return None

        def number(v: Any) -> float | None:
            """The number that a scalar stands for: as it was computed, or as it is written."""
            if is_literal(v):
                return float(np.asarray(v.val)) if not v.aval.shape and np.asarray(v.val).dtype.kind in "fiu" else None
            if v in numbers:
                return numbers[v]
            text = names.get(v, "")
            return float(text[4:-1]) if text.startswith("lit(") and _NUMBER.fullmatch(text[4:-1]) else None

        jaxpr = program.jaxpr
        lines = ["in " + " ".join([f"{name(v)}:{aval(v.aval)}" for v in jaxpr.invars])]
        for v, c in zip(jaxpr.constvars, program.consts, strict=False):
            lines.append(f"const {name(v)}={self.value(c)}")
        for eqn in jaxpr.eqns:
            if self.erase and _between_wide_integers(eqn):
                names[eqn.outvars[0]] = name(eqn.invars[0])
                continue
            literal = folded(eqn) if self.fold else None
            if literal is not None:
                names[eqn.outvars[0]] = literal
                continue
            if self.unused(eqn):
                continue
            params = self.params(eqn) if eqn.params else ""
            out = " ".join([f"{name(v)}:{aval(v.aval)}" for v in eqn.outvars])
            lines.append(f"{out} = {eqn.primitive.name}[{params}] {' '.join([name(v) for v in self.operands(eqn)])}")
        lines.append("out " + " ".join(map(name, jaxpr.outvars)))
        return "\n".join(lines)

    def unused(self, eqn: Any) -> bool:
        """Whether the equation is left out."""
        return False

    def operands(self, eqn: Any) -> Sequence[Any]:
        """The operands that are written."""
        return eqn.invars

    def literal(self, v: Any) -> str:
        """A literal operand."""
        if self.fold and not v.aval.shape:
            value = np.asarray(v.val)
            if self.erase and value.dtype.kind == "f":
                return f"lit({str(_narrow(value)).removesuffix('.0')})"
            return f"lit({self.value(v.val).removesuffix('.0')})"
        return f"lit({self.value(v.val)}:{self.aval(v.aval)})"

    def params(self, eqn: Any) -> str:
        ignored, param = self.IGNORED, self.param
        return ",".join([f"{k}={param(v)}" for k, v in sorted(eqn.params.items()) if k not in ignored])

    def aval(self, aval: Any) -> str:
        found = self.types.get(id(aval))
        if found is None:
            found = self.types[id(aval)] = aval, self.type(aval)
        return found[1]

    def type(self, aval: Any) -> str:
        shape = ",".join(self.dims(d) for d in getattr(aval, "shape", ()))
        dtype = getattr(aval, "dtype", None)
        return f"{'?' if dtype is None else kind_of(dtype) if self.erase else _dtype_text(dtype)}[{shape}]"

    def value(self, value: Any) -> str:
        if isinstance(value, jax.core.Tracer):
            raise TraceError(
                "A custom rule closes over a traced value: its gradient there would silently be 0. "
                "Pass it as an argument."
            )
        array = np.asarray(value) if not isinstance(value, np.ndarray) else value
        if self.erase and array.dtype.kind == "f":
            array = _narrow(array)
            return f"float{array.shape}{array.tobytes().hex()}"
        if array.ndim == 0:
            return repr(array[()].item()) if array.dtype.kind in "biuf" else repr(value)
        return f"{array.dtype}{array.shape}{array.tobytes().hex()}"

    def nested(self, closed: Any) -> str:
        return self.program(Program(jaxpr_of(closed), getattr(closed, "consts", ())))

    def param(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return str(value)
        if kind is tuple:
            return "(" + ",".join(map(self.param, value)) + ")"
        if kind is DimExpr:
            return self.dims(value)
        return remembered(self.others, value, self._param)

    def _param(self, value: Any) -> str:
        if isinstance(value, np.generic):  # a number, never the name of its dtype
            value = value.item()
        if isinstance(value, DimExpr) or (isinstance(value, int) and not isinstance(value, bool)):
            return self.dims(value)
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return f"{{{self.nested(value)}}}"
        if isinstance(value, (tuple, list)):
            return "(" + ",".join(map(self.param, value)) + ")"
        if isinstance(value, (np.dtype, type)) or hasattr(value, "itemsize"):
            try:
                return kind_of(np.dtype(value)) if self.erase else str(np.dtype(value))
            except TypeError:
                return str(value)
        if callable(value):
            return "callable"
        return str(value)


_identities: dict[Any, tuple[Any, int]] = memo()


class _Identity(Serialiser):
    """Tells apart the Python functions that a program calls back, by equality."""

    IGNORED = Serialiser.IGNORED | {"fwd_jaxpr_thunk", "out_trees"}

    def _param(self, value: Any) -> str:
        if callable(value) and not hasattr(value, "eqns") and not hasattr(value, "jaxpr"):
            return f"callable{_numbered(value)}"
        return super()._param(value)


def identity(program: Program) -> str:
    """A text that is equal for two programs of one proof only if they compute the same function."""
    foreign = [str(_numbered(e.primitive)) for e in _equations_of(program.jaxpr) if not genuine(e.primitive)]
    return " ".join([_Identity(str, False).program(program), *foreign])


def _equations_of(jaxpr: Any) -> Iterator[Any]:
    """The equations of a program, those of programs inside it too."""
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.params.values():
            for part in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(jaxpr_of(part), "eqns"):
                    yield from _equations_of(jaxpr_of(part))


def _numbered(value: Any) -> int:
    """A number for each of what Python tells apart."""
    try:
        return _identities.setdefault(value, (value, len(_identities)))[1]
    except TypeError:  # it has no hash
        return _identities.setdefault(id(value), (value, len(_identities)))[1]


_LITERAL: Any = jex.Literal
_PLAIN = frozenset({int, bool, str, type(None)})
"""Types of parameters that are written as they are."""


def remembered(table: dict[int, tuple[Any, str]], key: Any, write: Callable[[Any], str]) -> str:
    found = table.get(id(key))
    if found is None:
        found = table[id(key)] = key, write(key)
    return found[1]


def _narrow(array: np.ndarray) -> np.ndarray:
    """In float32; what is too large for it is infinite there, as it is when it runs."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


@lru_cache(maxsize=64)
def _dtype_text(dtype: Any) -> str:
    return str(dtype)


def _between_wide_integers(eqn: Any) -> bool:
    """A cast between 32- and 64-bit integers: JAX inserts it where it wants an index, and only in 64-bit mode."""
    wide = (np.dtype("int32"), np.dtype("int64"))
    return (
        eqn.primitive.name == "convert_element_type"
        and eqn.params["new_dtype"] in wide
        and eqn.invars[0].aval.dtype in wide
    )


def versions() -> dict[str, str]:
    import flint
    import islpy
    import sympy

    return {
        "flint": flint.__version__,
        "isl": str(islpy.version.VERSION_TEXT),
        "jax": jax.__version__,
        "sympy": sympy.__version__,
    }
