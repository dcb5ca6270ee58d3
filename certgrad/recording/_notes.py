"""Notes of a run: each rule that was called, and the shapes, dtypes and static values of its distinct calls.

Of arrays only static and closed-over ones are kept, and of everything only a limited number: a run may be long.
"""

from __future__ import annotations

import copy
import inspect
import os
import sys
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from certgrad.jaxpr.closures import captured, kind_of_rule
from certgrad.obligations.generality.likeness import Likeness
from certgrad.obligations.generality.state import ReadState
from certgrad.process.threads import PROCESS_LOCK
from certgrad.rules.subject.layers import plain_function

MAX_RULES = 2000
MAX_VARIANTS = 8
"""At most this many variants of one rule: the same code, other closed-over values."""
MAX_CALLS = 32
"""At most this many distinct calls of one variant are kept."""
COUNTED_PACKAGES = ("jax", "jaxlib", "certgrad")
"""Packages whose rules are audited by commands of their own, so that they are only counted."""
NO_ARRAY = "object of class "
"""The text in place of the dtype of a leaf that is no array: rules of Equinox take functions among arrays."""
_INSIDE = "equinox._ad:filter_custom_"
_WRAPPED = "wrapped"
"""A mark in place of a rule: a custom function of JAX that Equinox makes inside of its own kind of rule."""


@dataclass(frozen=True)
class Leaf:
    """An array in an argument; `number` is the Python number that it was given as, None for an array."""

    shape: tuple[int, ...]
    dtype: str
    weak: bool = False
    number: Any = None


@dataclass(frozen=True)
class Given:
    """An argument that holds arrays."""

    tree: Any
    leaves: tuple[Leaf, ...]

    @property
    def numbers(self) -> bool:
        """Whether it is one Python number, which a rule may use as such."""
        return len(self.leaves) == 1 and self.leaves[0].number is not None


@dataclass(frozen=True)
class Static:
    """An argument that the custom function takes as it is, not as arrays; `traced` is its type if it was traced."""

    value: Any
    key: Hashable
    traced: str = ""


@dataclass
class Call:
    """Calls with arguments of the same shapes, dtypes and static values."""

    arguments: tuple[tuple[str, Given | Static], ...]
    rest: tuple[Given | Static, ...] = ()
    """The arguments that `*args` took."""
    named: frozenset[str] = frozenset()
    """The arguments that are given by name."""
    count: int = 0

    def leaves(self) -> Iterator[Leaf]:
        """Return all arrays of all arguments."""
        given = (*(value for _, value in self.arguments), *self.rest)
        return (leaf for value in given if isinstance(value, Given) for leaf in value.leaves)


@dataclass
class Variant:
    """The objects of a rule that close over the same values, kept as one."""

    custom: Any
    calls: dict[Hashable, Call] = field(default_factory=dict)
    more: int = 0
    """Further distinct calls that are not kept."""
    mixed: bool = False
    """Whether a call was in float32 while JAX had 64-bit numbers."""
    problem: str = ""
    """Why it cannot be audited; "" where it can."""
    names: tuple[str, ...] | None = None
    """The names of its positional arguments; None before they are read."""
    key: Hashable = None
    """The likeness key that all objects of this variant have."""
    state: ReadState | None = None
    """The state that its code reads, as it was at the first call."""

    def compare(self, custom: Any, again: bool) -> None:
        """Note if what the code reads has changed since the first call; with `again`, compare the object itself too."""
        if self.state is None or not self.state.called():
            return
        if again and custom is not self.custom and Likeness(custom).key != self.key:
            self.state.differs("a value that it closes over")

    def ended(self) -> None:
        """Compare the state once more, before an audit runs the program's code."""
        if self.state is not None:
            self.state.compare()

    @property
    def changed(self) -> str:
        """Return in words what changed since the first call, so that an audit is not about all calls; else ""."""
        return self.state.difference if self.state is not None else ""


@dataclass
class Rule:
    """One rule that was called."""

    variants: dict[Hashable, Variant] = field(default_factory=dict)
    more: int = 0
    """The number of calls of objects beyond `MAX_VARIANTS`, which are not kept."""

    @property
    def count(self) -> int:
        """Return the number of all calls, kept or only counted."""
        return self.more + sum(v.more + sum(c.count for c in v.calls.values()) for v in self.variants.values())


class Notes:
    """The rules that were called in this process, with their calls."""

    def __init__(self) -> None:
        self.rules: dict[Hashable, Rule] = {}
        self.others: dict[str, set[str]] = {}
        """The names of called rules of JAX and of certgrad itself, by package."""
        self.lost: dict[str, int] = {}
        """The number of calls that could not be noted, by the rule and the reason."""
        self._known: WeakKeyDictionary[Any, tuple[Rule, Variant] | str | None] = WeakKeyDictionary()
        self._process = os.getpid()

    def note(self, custom: Any, args: tuple, kwargs: dict) -> None:
        """Note a call; not one in a forked process.

        A call that cannot be noted is counted in `lost`, with the reason; so are calls of rules beyond `MAX_RULES`.
        """
        if os.getpid() != self._process:
            return
        with PROCESS_LOCK:  # a re-entrant lock: one thread at a time walks what a rule reaches
            try:
                seen_before = custom in self._known
                if not seen_before:
                    self._known[custom] = self._placed(custom)
                placed = self._known[custom]
                if placed is None:
                    return
                if placed == _WRAPPED:  # note the call of Equinox's rule around it in its place
                    outer = _outer()
                    if outer is not None:
                        self.note(*outer)
                    return
                assert not isinstance(placed, str)
                rule, variant = placed
                variant.compare(custom, seen_before)
                if not _noted(custom, variant, args, kwargs):
                    rule.more += 1
            except Exception as error:
                if len(self.lost) < MAX_RULES:
                    message = " ".join(str(error).split())[:200]
                    reason = f"{_qualified_name(own_function(custom))}: {type(error).__name__}: {message}"
                    self.lost[reason] = self.lost.get(reason, 0) + 1

    def remarks(self) -> list[str]:
        """Return remarks on the called rules that are not audited here."""
        shown = []
        for package, command in (("jax", "certgrad audit --jax"), ("certgrad", "certgrad audit")):
            count = len(self.others.get(package, ()))
            if count:
                rules = "1 rule" if count == 1 else f"{count} rules"
                shown.append(
                    f"{rules} of {package} itself, called too, {'is' if count == 1 else 'are'} for `{command}`"
                )
        for reason, count in self.lost.items():
            shown.append(f"{count} call{'' if count == 1 else 's'} could not be noted: {reason}")
        return shown

    def _placed(self, custom: Any) -> tuple[Rule, Variant] | str | None:
        """Return the rule and variant that an object belongs to, which are made at its first call.

        None for a rule of JAX or certgrad, `_WRAPPED` for one that Equinox made inside its own. The variant has no
        `custom` where there are too many. Raises MemoryError where there are too many rules.
        """
        plain = own_function(custom)
        name = _qualified_name(plain)
        module = name.partition(":")[0]
        package = _package(plain)
        if name.startswith(_INSIDE):
            return _WRAPPED
        if package in COUNTED_PACKAGES:
            self.others.setdefault(package, set()).add(name)
            return None
        key = (type(custom).__name__, name, getattr(plain, "__code__", None))
        if key not in self.rules and len(self.rules) >= MAX_RULES:
            raise MemoryError
        rule = self.rules.setdefault(key, Rule())
        likeness = Likeness(custom)
        variant = rule.variants.get(likeness.key)
        if variant is None and len(rule.variants) >= MAX_VARIANTS:
            return rule, Variant(None)
        if variant is None:
            variant = Variant(custom, key=likeness.key)
            if likeness.traced:  # its trace has ended by the time of the audit, and must not be kept
                traced_types = ", ".join(dict.fromkeys(likeness.traced))
                variant.problem = f"it closes over a traced value ({traced_types}): pass it as an argument"
                variant.custom = _bare_of(plain, module)
            else:
                variant.state = ReadState(custom)
            rule.variants[likeness.key] = variant
        return rule, variant


@dataclass(frozen=True)
class Bare:
    """The place of a rule's function, instead of a rule that must not be kept."""

    module: str
    name: str
    file: str
    line: int


def own_function(custom: Any) -> Any:
    """Return the Python function that says where a rule is from: the function that it differentiates.

    For a user's rule for a function of another package, such as `jnp.sinc`, it is one of the rule's own functions.
    """
    plain = plain_function(custom)
    if _package(plain) not in COUNTED_PACKAGES:
        return plain
    parts = [f for name in ("fwd", "bwd", "jvp") if (f := getattr(custom, name, None)) is not None]
    closed_over = [
        c for f in parts for c in captured(f)
    ]  # the jvp that `defjvps` makes closes over the given functions
    parts += [f for c in closed_over for f in (c if isinstance(c, (tuple, list)) else (c,))]
    return next((f for f in parts if inspect.isfunction(f) and _package(f) not in COUNTED_PACKAGES), plain)


def _package(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _qualified_name(plain: Any) -> str:
    return f"{getattr(plain, '__module__', '')}:{getattr(plain, '__qualname__', type(plain).__name__)}"


def _outer() -> tuple[Any, tuple, dict] | None:
    """Return the rule of Equinox that is being called, with its arguments, found in the frames above; None if there is
    none. JAX's custom function inside of it has these arguments in parts.
    """
    frame = sys._getframe(1)
    for _ in range(16):
        bound_self = frame.f_locals.get("self") if frame.f_code.co_name == "__call__" else None
        if kind_of_rule(bound_self).startswith("equinox."):
            frame_locals = frame.f_locals
            first = (frame_locals["vjp_arg"],) if "vjp_arg" in frame_locals else ()
            return bound_self, (*first, *frame_locals["args"]), dict(frame_locals["kwargs"])
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def _bare_of(plain: Any, module: str) -> Bare:
    code = getattr(plain, "__code__", None)
    name = str(getattr(plain, "__qualname__", type(plain).__name__))
    return Bare(module, name, getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0))


def _noted(custom: Any, variant: Variant, args: tuple, kwargs: Mapping[str, Any]) -> bool:
    """Add a call to a variant, and return whether the variant is kept."""
    if variant.custom is None:
        return False
    if variant.problem:
        variant.more += 1
        return True
    call = _call(custom, variant, args, kwargs)
    if call is None:
        return True
    key = (*((n, _key(a)) for n, a in call.arguments), *map(_key, call.rest))
    kept_call = variant.calls.get(key)
    if kept_call is None and len(variant.calls) >= MAX_CALLS:
        variant.more += 1
        return True
    kept_call = variant.calls.setdefault(key, call)
    kept_call.count += 1
    if jax.config.read("jax_enable_x64") and any(leaf.dtype == "float32" for leaf in call.leaves()):
        variant.mixed = True
    return True


def _call(custom: Any, variant: Variant, args: tuple, kwargs: Mapping[str, Any]) -> Call | None:
    """Return a call with its arguments by position, as JAX takes them, if they can be.

    None where a size is no number, as when a program is exported.
    """
    if variant.names is None or kwargs or len(args) < len(variant.names):
        bound = inspect.signature(plain_function(custom)).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
        variant.names = _names(bound.signature)
    of_jax = isinstance(custom, (jax.custom_vjp, jax.custom_jvp))
    static_positions = custom.nondiff_argnums if of_jax else ()
    positional = [_static(x) if k in static_positions else _given_or_static(x, of_jax) for k, x in enumerate(args)]
    named = {name: _given_or_static(x, of_jax) for name, x in kwargs.items()}
    if any(not isinstance(n, int) for a in positional if isinstance(a, Given) for leaf in a.leaves for n in leaf.shape):
        return None
    count = len(variant.names)
    arguments = (*zip(variant.names, positional[:count], strict=True), *named.items())
    return Call(arguments, tuple(positional[count:]), frozenset(named))


def _names(signature: inspect.Signature) -> tuple[str, ...]:
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in signature.parameters.values() if p.kind in places)


def _given_or_static(value: Any, of_jax: bool) -> Given | Static:
    """Return an argument as one that holds arrays; for rules of Equinox (not `of_jax`) without an array, as static."""
    leaves, tree = jax.tree_util.tree_flatten(value)
    if not of_jax and not any(hasattr(x, "shape") for x in leaves):
        return _static(value)
    return Given(tree, tuple(_leaf(x) for x in leaves))


def _leaf(x: Any) -> Leaf:
    """Return a leaf of an argument: an array, a Python number, or an object that is neither."""
    if hasattr(x, "shape"):
        return Leaf(tuple(x.shape), _dtype(x.dtype), bool(getattr(x, "weak_type", False)))
    try:
        kind = jax.typeof(x)  # a Python number, or an object that JAX takes as an array
    except TypeError:
        return Leaf((), f"{NO_ARRAY}{type(x).__name__}")
    return Leaf((), _dtype(kind.dtype), bool(kind.weak_type), x)


@lru_cache(maxsize=256)
def _dtype(dtype: Any) -> str:
    return str(dtype)  # cached, since it takes NumPy some microseconds


def _static(value: Any) -> Static:
    likeness = Likeness(value)
    if likeness.traced:
        return Static(None, likeness.key, ", ".join(likeness.traced))
    return Static(_copied_container(value), likeness.key)


def _copied_container(value: Any) -> Any:
    """Return a copy of a container or NumPy array, which the program may change later; other values as they are."""
    if type(value) in (list, tuple):
        return type(value)(map(_copied_container, value))
    if type(value) is dict:
        return {k: _copied_container(x) for k, x in value.items()}
    return copy.copy(value) if type(value) in (set, np.ndarray) else value


def _key(argument: Given | Static) -> Hashable:
    if isinstance(argument, Static):
        return ("static", argument.key)
    return (_of_tree(argument.tree), tuple(_bare(x) for x in argument.leaves))


def _of_tree(tree: Any) -> Hashable:
    """Return a key of a tree's nodes with their data: in JAX's own comparison True and 1 are equal data."""
    data = tree.node_data()
    if data is None:
        return tree.num_leaves
    return (data[0], Likeness(data[1]).key, *map(_of_tree, tree.children()))


def _bare(leaf: Leaf) -> Hashable:
    """Return a key of a leaf, with the value of an integer, mostly an axis or a size, but not that of a float, which
    may differ in every call.
    """
    number = leaf.number if isinstance(leaf.number, int) else type(leaf.number).__name__
    return (leaf.shape, leaf.dtype, leaf.weak, number)
