"""Other answers to what code asks of the platform, of JAX's settings and of the environment.

Each such question is answered otherwise in one more trace, and questions that are asked there in further ones. Code
that reads the environment, the number of devices, or a setting other than yes or no is reported: its other answers
cannot be listed.
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
"""At most this many ways to trace a rule are tried for its questions; if there are more, it is unproved."""
HALF = ("bfloat16", "float16")


@dataclass(frozen=True)
class Way:
    """One way in which a rule can be traced: in a dtype, and in surroundings."""

    dtype: str
    wide: bool = False
    """Whether JAX computes in 64 bits although the dtype is narrow."""
    alone: int | None = None
    """The number of the only float array that has the dtype, while the others have 64 bits; None if all have it."""
    platform: str = ""
    """The platform that the code finds; empty for the real one."""
    asked: str = field(default="", compare=False)
    """The question that the platform answers, as the name of a function."""
    turned: tuple[tuple[str, Any], ...] = ()
    """The settings of JAX that have other values for the code, with these values."""
    handed_on: bool = False
    """Whether code that asks for the type of a value finds a number of Python or an array of numpy."""

    def __str__(self) -> str:
        """Return the beginning of a sentence: `it asks for the platform (default_backend), and on a gpu it`."""
        asked = [f"a setting of JAX ({name})" for name, _ in self.turned]
        asked += [f"the platform ({self.asked})"] if self.platform else []
        asked += ["the type of a value"] if self.handed_on else []
        dtype_text = f"traced {'in' if self.alone is None else 'with one array of'} {self.dtype} under x64 " * self.wide
        if not asked:
            return f"{dtype_text}it"
        circumstances = ["where that is another"] * bool(self.turned) + [f"on a {self.platform}"] * bool(self.platform)
        circumstances += ["where that is a number of Python's or an array of numpy's"] * self.handed_on
        return f"{dtype_text}it asks for {' and for '.join(asked)}, and {', '.join(circumstances)} it"

    def others(self, heard: Heard) -> Iterator[Way]:
        """Yield this way with one more question answered otherwise: for each question that was asked, each answer."""
        for name, value in heard.settings.items():
            if name not in dict(self.turned) and name not in WIDTHS:
                for other_value in other_values(name, value):
                    yield replace(self, turned=tuple(sorted((*self.turned, (name, other_value)))))
        if heard.devices.platform and not self.platform:
            for platform in PLATFORMS:
                yield replace(self, platform=platform, asked=heard.devices.platform[0])


def difference_in_surroundings(
    subject: Compared, dtypes: Sequence[str], either: bool, asked: Sequence[tuple[Sizes, Heard]], state: ReadState
) -> Difference | None:
    """Return the first difference between the traced programs and those in other surroundings; None if there is none.

    `asked` holds what the code asked at each of some sizes. The rule is traced with each other answer to each question,
    and again for the questions that it asks then: a breadth-first search over ways to trace it. Caches are emptied
    before each trace.

    With `either`, code that asks for the width of floats is also traced with arrays of float32 in three ways: while JAX
    computes in 32 bits; while it computes in 64 bits; and in 64 bits with one of the first two float arrays in float32
    and the others in float64.
    """
    waiting: deque[tuple[Way, Sizes]] = deque()
    seen: set[tuple[Way, str]] = set()

    def wait(way: Way, sizes: Sizes) -> None:
        """Add a way to the queue, once."""
        if (key := (way, str(sizes))) not in seen:
            seen.add(key)
            waiting.append((way, sizes))

    def follow(way: Way, sizes: Sizes, heard: Heard) -> Difference | None:
        """Add the ways that answer what the code asked on this way; return a question that cannot be answered."""
        if problem := heard.problem():
            return Difference((), problem, {})
        for next_way in way.others(heard):
            wait(next_way, sizes)
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
        # A rule that refuses narrow arrays while JAX computes in 64 bits is proved without that setting alone.
        subject.narrow = subject.narrow or (programs is None and way.wide)
        if (difference := follow(way, sizes, heard) or _differs(subject, way, programs, sizes)) is not None:
            return difference
    return None


def _differs(subject: Compared, way: Way, there: Programs | None, sizes: Sizes) -> Difference | None:
    """Return how the programs `there`, traced in a way, differ from the proved ones; None if they do not.

    `there` is None if the rule does not trace so: that is a difference, unless a dtype alone may be the cause.
    """
    if there is None:  # a rule may refuse a dtype
        return Difference((), f"{way} does not trace", {}) if way.platform or way.turned or way.handed_on else None
    general = subject.programs(way.dtype)
    fixed = {n: integer_size(v) for n, v in sizes.items()}
    if there is general or _texts(general, fixed, way) == _texts(there, {}, way):
        return None
    differences = values_apart(subject, general, there, sizes, way.dtype, everywhere=way.wide)
    if not differences:
        return None
    plain = way == Way(way.dtype)
    where = f"at {sized(subject.names, sizes)} in {way.dtype} " * (plain and bool(sizes))
    text = f"{where}{way} is another program: {in_words(differences)}"
    return Difference(tuple(differences), text, sizes if plain or way.wide else {}, wide=False, traced=plain)


def _traced(subject: Compared, way: Way, sizes: Sizes) -> Programs | None:
    """Return the programs that are traced in a way; None if the rule does not trace.

    If user code refuses a type that it asked for (`handed_on`), the proved programs are returned: nothing differs.
    """
    try:
        return subject.at(sizes, way.dtype, way.wide, way.alone, way.handed_on)
    except CertgradError as error:
        return subject.programs(way.dtype) if way.handed_on and raised_by_users(error.__cause__) else None


def _texts(programs: Programs, fixed: Fixed, way: Way) -> Any:
    narrow = way.dtype != "float64"
    return serialised_all(programs, rendering(fixed), erase_dtypes=narrow, fold_sizes=True)
