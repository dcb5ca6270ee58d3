"""A rule traced in every way that it may be: other dtypes, other surroundings, and the sizes that it asks about there.

One question may hide another: `x.dtype == float32 and x.shape[0] == 17` asks for a size in one dtype alone, and
`x.shape[0] == 17 and default_backend() == "gpu"` for the platform at one size. So in each way the rule is traced at
sizes left open, and at those about which it asks there; and wherever it asks for its surroundings, in others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from certgrad.errors import CertgradError

from ..generality.decisions import Fixed, contrary, rendering
from ..generality.instances import evaluate_size
from ..tracing.jax_internals import serialised_all
from ._at_numbers import Difference, said, values_apart
from ._compared import Compared
from ._numbers import names_in_code
from ._points import sized
from ._precision import Programs, Sizes
from ._surroundings import AXIS, Heard, Way, surroundings

MOST = 256
"""So many traces at numbers are compared, beyond those that are in any case."""
HALF = ("bfloat16", "float16")
MOST_CASES = 12
"""In one way to trace, of so many cases."""


@dataclass
class Ways:
    """The ways in which one subject is traced, as they come up."""

    subject: Compared
    place: Sizes
    """The sizes at which each way is compared."""
    dtype: str
    """In which the rule was compared at numbers."""
    waiting: deque[tuple[Way, Sizes]] = field(default_factory=deque)
    seen: set[tuple[Way, str]] = field(default_factory=set)
    here: dict[tuple[str, str], Programs | None] = field(default_factory=dict)
    """What was traced in plain surroundings, by dtype and sizes."""

    def __post_init__(self) -> None:
        self.axes = (AXIS, *(name for name in names_in_code(self.subject.functions) if name != AXIS))

    def heard(self, way: Way, sizes: Sizes, heard: Heard) -> Difference | None:
        """What was asked for in a trace: what follows from it is traced later."""
        if problem := heard.problem():
            return Difference((), problem, {})
        for other in way.others(heard):
            self.wait(other, sizes)
        return None

    def wait(self, way: Way, sizes: Sizes) -> None:
        """Let it be traced at these sizes, and where the way is new, at those about which it asks there."""
        for there in (self.place, sizes):
            if (key := (way, str(there))) not in self.seen:
                self.seen.add(key)
                self.waiting.append((way, there))

    def differs(self) -> Difference | None:
        """The first way in which it does something else than was proved."""
        looked = 0
        while self.waiting:
            if (looked := looked + 1) > MOST:
                return Difference((), f"it asks for so much that there are more than {MOST} ways to trace it", {})
            way, sizes = self.waiting.popleft()
            if (found := self._at(way, sizes)) is not None:
                return found
            rarely = way.alone is not None or way.explicit or (way.wide and way.dtype in HALF)
            if sizes == self.place and not rarely and (found := self.asks(way)) is not None:
                return found
        return None

    def asks(self, way: Way) -> Difference | None:
        """What it asks for at sizes left open, and about which sizes."""
        if not self.subject.names:
            return None
        cases: deque[Fixed] = deque([{}])
        known = {c for c in contrary(self.subject.general(way.dtype), {}) if isinstance(c, str)}
        met: set[str] = set()
        while cases:
            fixed = cases.popleft()
            if (key := str(sorted(fixed.items()))) in met:
                continue
            met.add(key)
            if len(met) > MOST_CASES:
                return Difference((), f"{self._where(way)} asks for more than {MOST_CASES} cases of sizes", {})
            with surroundings(way, self.axes, self.subject.files) as heard:
                found = self.subject.left_open(fixed, way.dtype, way.wide)
            if (difference := self.heard(way, self.place, heard)) is not None:
                return difference
            if found is None:
                continue
            for case in contrary(found, fixed):
                if isinstance(case, str):
                    if case not in known:
                        return Difference((), f"{self._where(way)} asks about sizes what no case answers: {case}", {})
                elif (sizes := self._numbers(case)) is not None:
                    cases.append(case)
                    self.wait(way, sizes)
        return None

    def _numbers(self, fixed: Fixed) -> Sizes | None:
        """Sizes that fit a case."""
        sizes = dict(self.place)
        for name, text in fixed.items():
            sizes[name] = evaluate_size(text, self.place, int)
        return sizes if all(n >= 1 for n in sizes.values()) else None

    def _at(self, way: Way, sizes: Sizes) -> Difference | None:
        with surroundings(way, self.axes, self.subject.files) as heard:
            there = _traced(self.subject, way, sizes)
        if (found := self.heard(way, sizes, heard)) is not None:
            return found
        if there is None:  # a rule may refuse a dtype, or be none for a mesh
            where = f"{self._where(way, sizes)} does not trace"
            refused = way.wide or way.dtype in HALF or not (way.platform or way.turned)
            return None if refused else Difference((), where, {})
        how = self._apart(way, there, sizes)
        if not how:
            return None
        text = f"{self._where(way, sizes)} is another program: {said(how)}"
        own = way.is_plain and way.dtype not in HALF
        return Difference(tuple(how), text, sizes if own or way.wide else {}, way.dtype == "float64", traced=own)

    def _apart(self, way: Way, there: Programs, sizes: Sizes) -> dict[str, str]:
        """How a trace differs from what was proved: by value, if it is not the program that JAX makes there."""
        general = self.subject.programs(way.dtype)
        texts = _texts(general, {n: str(v) for n, v in sizes.items()}, way), _texts(there, {}, way)
        if texts[0] == texts[1]:
            return {}
        key = way.dtype, str(sizes)
        if key not in self.here:
            self.here[key] = _traced(self.subject, Way(way.dtype), sizes)
        plain = self.here[key]
        if not way.is_plain and plain is not None and _texts(plain, {}, way) == texts[1]:
            return {}
        return values_apart(self.subject, general, there, sizes, way.dtype, way.wide, evaluable=way.mapped)

    def _where(self, way: Way, sizes: Sizes | None = None) -> str:
        where = f"at {sized(self.subject.names, sizes)} " if sizes and sizes != self.place else ""
        return f"{where}{'' if way.wide or way.dtype == self.dtype else f'in {way.dtype} '}{way}"


def _traced(subject: Compared, way: Way, sizes: Sizes) -> Programs | None:
    try:
        return subject.at(sizes, way.dtype, wide=way.wide, alone=way.alone)
    except CertgradError:
        return None


def _texts(programs: Programs, fixed: Fixed, way: Way) -> Any:
    return serialised_all(programs, rendering(fixed), erase_dtypes=way.wide, fold_sizes=True)


def otherwise(
    subject: Compared, place: Sizes, dtypes: Sequence[str], either: bool, heard: Iterable[tuple[Sizes, Heard]]
) -> Difference | None:
    """How the rule differs in a way that it can be traced in beside the first of the dtypes, in plain surroundings.

    `heard` is what it asked for there at some sizes; `either`: in narrow dtypes while JAX computes in 64 bits too.
    """
    found = Ways(subject, place, dtypes[0])
    first = Way(dtypes[0])
    for sizes, asked in heard:
        if (difference := found.heard(first, sizes, asked)) is not None:
            return difference
    found.wait(replace(first, mapped=True), place)
    found.wait(replace(first, explicit=True), place)
    for dtype in dtypes if either else ():
        if dtype != "float64":
            found.wait(Way(dtype, wide=True), place)
    if either and "float32" in dtypes and subject.several_floats:
        for k in range(2):
            found.wait(Way("float32", wide=True, alone=k), place)
    for dtype in dtypes[1:]:  # what is traced there at numbers is what calls run
        if (difference := found.asks(Way(dtype))) is not None:
            return difference
    return found.differs()
