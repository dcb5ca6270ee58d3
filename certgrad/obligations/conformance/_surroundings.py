"""Other answers to what code asks of the platform, of JAX's settings and of the environment.

Each such question is answered otherwise in one more trace, and what is asked there in further ones. Code that reads the
environment, how many devices there are, or a setting that is no yes or no, is told of, as nobody can say what stands
there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from certgrad.errors import CertgradError
from certgrad.obligations.tracing.ambient_reads import WIDTHS, Heard, hearing, other_values
from certgrad.signatures.sizes import integer_size

from ..generality.decisions import Fixed, rendering
from ..generality.reach import raised_by_users
from ..generality.state import ReadState
from ..tracing.jax_internals import serialised_all, unremembered
from ._at_numbers import Difference, in_words, values_apart
from ._compared import Compared, Programs, Sizes, sized

PLATFORMS = ("tpu", "gpu", "cpu")
MOST = 24
"""Ways in which a rule is traced for its questions; where there are more, it is unproved."""
HALF = ("bfloat16", "float16")


@dataclass(frozen=True)
class Way:
    """One way in which a rule can be traced: in a dtype, and in surroundings."""

    dtype: str
    wide: bool = False
    """A narrow dtype while JAX computes in 64 bits."""
    alone: int | None = None
    """The one array of floats, by its place among them, that is of the dtype where the others are of 64 bits."""
    platform: str = ""
    asked: str = field(default="", compare=False)
    """The question that the platform answers."""
    turned: tuple[tuple[str, Any], ...] = ()
    """The settings of JAX that have other values for the code that asks for them."""
    handed_on: bool = False
    """Code that asks for the type of a value finds what JAX hands on as it is."""

    def __str__(self) -> str:
        """A clause that lacks its verb: `it asks for the platform (default_backend), and on a gpu it`."""
        asked = [f"a setting of JAX ({name})" for name, _ in self.turned]
        asked += [f"the platform ({self.asked})"] if self.platform else []
        asked += ["the type of a value"] if self.handed_on else []
        where = f"traced {'in' if self.alone is None else 'with one array of'} {self.dtype} under x64 " * self.wide
        if not asked:
            return f"{where}it"
        other = ["where that is another"] * bool(self.turned) + [f"on a {self.platform}"] * bool(self.platform)
        other += ["where that is a number of Python's or an array of numpy's"] * self.handed_on
        return f"{where}it asks for {' and for '.join(asked)}, and {', '.join(other)} it"

    def others(self, heard: Heard) -> Iterator[Way]:
        """Yield the ways in which one more question has another answer."""
        for name, value in heard.settings.items():
            if name not in dict(self.turned) and name not in WIDTHS:
                for other in other_values(name, value):
                    yield replace(self, turned=tuple(sorted((*self.turned, (name, other)))))
        if heard.devices.platform and not self.platform:
            for platform in PLATFORMS:
                yield replace(self, platform=platform, asked=heard.devices.platform[0])


def difference_in_surroundings(
    subject: Compared, dtypes: Sequence[str], either: bool, asked: Sequence[tuple[Sizes, Heard]], state: ReadState
) -> Difference | None:
    """Return the first difference between the traced programs and those in other surroundings; None if there is none.

    `asked` holds what the code asked for at each of some sizes: for every question that it asked it is traced with each
    other answer, and for what it asks then again. With `either`, code that asks for dtypes is also traced in float32:
    as it is, while JAX computes in 64 bits, and there with one array of float32 alone. Caches are emptied before each
    trace.
    """
    waiting: deque[tuple[Way, Sizes]] = deque()
    seen: set[tuple[Way, str]] = set()

    def wait(way: Way, sizes: Sizes) -> None:
        if (key := (way, str(sizes))) not in seen:
            seen.add(key)
            waiting.append((way, sizes))

    def follow(way: Way, sizes: Sizes, heard: Heard) -> Difference | None:
        if problem := heard.problem():
            return Difference((), problem, {})
        for other in way.others(heard):
            wait(other, sizes)
        return None

    if subject.asks_for_types:
        wait(Way(dtypes[0], handed_on=True), asked[0][0])
    for sizes, heard in asked:
        if (difference := follow(Way(dtypes[0]), sizes, heard)) is not None:
            return difference
        if either and "float32" in dtypes and (WIDTHS & heard.settings.keys() or not {*HALF} & {*dtypes}):
            wait(Way("float32"), sizes)
            wait(Way("float32", wide=True), sizes)
            for k in range(2 if subject.several_floats else 0):
                wait(Way("float32", wide=True, alone=k), sizes)
    while waiting:
        if len(seen) > MOST:
            return Difference((), f"it asks for so much that there are more than {MOST} ways to trace it", {})
        way, sizes = waiting.popleft()
        state.forget()
        try:
            with unremembered(), hearing(subject.files, way.platform, dict(way.turned)) as heard:
                programs = _traced(subject, way, sizes)
        finally:
            state.forget()
        subject.narrow = subject.narrow or (programs is None and way.wide)
        if (difference := follow(way, sizes, heard) or _differs(subject, way, programs, sizes)) is not None:
            return difference
    return None


def _differs(subject: Compared, way: Way, there: Programs | None, sizes: Sizes) -> Difference | None:
    if there is None:  # a rule may refuse a dtype
        return Difference((), f"{way} does not trace", {}) if way.platform or way.turned or way.handed_on else None
    general = subject.programs(way.dtype)
    fixed = {n: integer_size(v) for n, v in sizes.items()}
    if there is general or _texts(general, fixed, way) == _texts(there, {}, way):
        return None
    how = values_apart(subject, general, there, sizes, way.dtype, everywhere=way.wide)
    if not how:
        return None
    plain = way == Way(way.dtype)
    where = f"at {sized(subject.names, sizes)} in {way.dtype} " * (plain and bool(sizes))
    text = f"{where}{way} is another program: {in_words(how)}"
    return Difference(tuple(how), text, sizes if plain or way.wide else {}, wide=False, traced=plain)


def _traced(subject: Compared, way: Way, sizes: Sizes) -> Programs | None:
    """Return the programs of a way; None where there are none, as code that refuses a type has no other program."""
    try:
        return subject.at(sizes, way.dtype, way.wide, way.alone, way.handed_on)
    except CertgradError as error:
        return subject.programs(way.dtype) if way.handed_on and raised_by_users(error.__cause__) else None


def _texts(programs: Programs, fixed: Fixed, way: Way) -> Any:
    narrow = way.dtype != "float64"
    return serialised_all(programs, rendering(fixed), erase_dtypes=narrow, fold_sizes=True)
