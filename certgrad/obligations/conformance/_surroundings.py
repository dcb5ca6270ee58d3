"""What a rule is traced in: the environment of the process, JAX's settings and platform, and the mesh of devices.

A trace shows what the rule does in these surroundings. So the trace is made in others: with another platform or another
setting, where the code asks for it, and as inside of `shard_map`, over axes with all names that stand in the code. Code
that reads the environment, or a setting that is no yes or no, is told of, as nobody can say what stands there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType, use_abstract_mesh

from certgrad._threads import one_at_a_time
from certgrad.errors import CertgradError

from ..generality.decisions import rendering
from ..tracing.jax_internals import from_library, seen_platform, serialised_all
from ._at_numbers import Difference, said, values_apart
from ._compared import Compared
from ._numbers import names_in_code
from ._precision import Programs, Sizes

PLATFORMS = ("tpu", "gpu")
AXIS = "certgrad"
"""An axis of a mesh of one device."""


def elsewhere(subject: Compared, sizes: Sizes, dtype: str) -> Difference | None:
    """How the trace depends on its surroundings."""
    with _watched_environment() as read, seen_platform("", _of_rule) as asked, _settings() as settings:
        here = _traced(subject, sizes, dtype)
    if read:
        return Difference(
            (), f"it reads the environment ({read[0]}): where that is another, it may do other things", {}
        )
    if here is None:
        return None
    axes = (AXIS, *(name for name in names_in_code(subject.functions) if name != AXIS))
    with use_abstract_mesh(AbstractMesh((1,) * len(axes), axes, axis_types=(AxisType.Manual,) * len(axes))):
        mapped = _traced(subject, sizes, dtype)
    if mapped is not None and (how := _apart(subject, here, mapped, sizes, dtype)):
        return Difference(tuple(how), f"inside of a shard_map it is another program: {said(how)}", {})
    for name, value in settings.items():
        where = f"it asks for a setting of JAX ({name}), and where that is another it"
        if not isinstance(value, bool):
            return Difference((), f"{where} may do other things", {})
        with _settings(turned=name):
            there = _traced(subject, sizes, dtype)
        if (found := _otherwise(subject, here, there, where, sizes, dtype)) is not None:
            return found
    if not asked:
        return None
    for platform in PLATFORMS:
        with seen_platform(platform, _of_rule):
            there = _traced(subject, sizes, dtype)
        where = f"it asks for the platform ({asked[0]}), and on a {platform} it"
        if (found := _otherwise(subject, here, there, where, sizes, dtype)) is not None:
            return found
    return None


def _otherwise(
    subject: Compared, here: Programs, there: Programs | None, where: str, sizes: Sizes, dtype: str
) -> Difference | None:
    """How a rule that asks for its surroundings does otherwise in others."""
    if there is None:
        return Difference((), f"{where} does not trace", {})
    how = _apart(subject, here, there, sizes, dtype)
    return Difference(tuple(how), f"{where} is another program: {said(how)}", {}) if how else None


def _apart(subject: Compared, here: Programs, there: Programs, sizes: Sizes, dtype: str) -> dict[str, str]:
    """How a trace in other surroundings differs: by value, if it is not the same program."""
    texts = [serialised_all(programs, rendering({}), fold_sizes=True) for programs in (here, there)]
    return {} if texts[0] == texts[1] else values_apart(subject, subject.programs(dtype), there, sizes, dtype)


def under_x64(subject: Compared, sizes: Sizes, dtypes: Sequence[str]) -> Difference | None:
    """How the trace in a narrower dtype is another program while JAX computes in 64 bits: by value, if not the same."""
    for dtype in dtypes:
        found = _traced(subject, sizes, dtype, wide=True) if dtype != "float64" else None
        if found is None:  # a rule may refuse a dtype
            continue
        general = subject.programs(dtype)
        fixed = {n: str(v) for n, v in sizes.items()}
        texts = [
            serialised_all(programs, rendering(at), erase_dtypes=True, fold_sizes=True)
            for programs, at in ((general, fixed), (found, {}))
        ]
        if texts[0] != texts[1] and (how := values_apart(subject, general, found, sizes, dtype, everywhere=True)):
            where = f"traced in {dtype} under x64 it is another program"
            return Difference(tuple(how), f"{where}: {said(how)}", sizes, False)
    return None


def _traced(subject: Compared, sizes: Sizes, dtype: str, wide: bool = False) -> Programs | None:
    try:
        return subject.at(sizes, dtype, wide=wide)
    except CertgradError:
        return None


def _of_rule(frame: Any) -> bool:
    return frame is not None and not from_library(frame.f_code.co_filename) and not _of_certgrad(frame)


def _of_certgrad(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


@one_at_a_time
def _watched_environment() -> Iterator[list[str]]:
    """The names of variables of the environment that code outside the libraries reads."""
    read: list[str] = []
    thread = get_ident()
    kind: Any = type(os.environ)
    own = {name: getattr(kind, name) for name in ("__getitem__", "__iter__", "__len__")}

    def watching(name: str) -> Callable[..., Any]:
        def ask(self: Any, *args: Any) -> Any:
            frame: Any = sys._getframe(1)
            while frame is not None and _of_python(frame):
                frame = frame.f_back
            if get_ident() == thread and _of_rule(frame):
                read.append(str(args[0]) if args else "all of it")
            return own[name](self, *args)

        return ask

    try:
        for name in own:
            setattr(kind, name, watching(name))
        yield read
    finally:
        for name, function in own.items():
            setattr(kind, name, function)


WIDTHS = ("jax_enable_x64", "x64_enabled")
"""The setting with which rules are traced and called both ways anyway."""


@one_at_a_time
def _settings(turned: str = "") -> Iterator[dict[str, Any]]:
    """The settings of JAX that code outside the libraries reads, with their values; to that code one is `turned`."""
    asked: dict[str, Any] = {}
    thread = get_ident()
    kind: Any = type(jax.config)

    def seen(name: str, value: Any) -> Any:
        if name in WIDTHS:
            return value
        asked[name] = value
        return not value if name == turned else value

    def attribute(self: Any, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if get_ident() != thread or not _of_rule(sys._getframe(1)):
            return value
        return (lambda asked_for: seen(asked_for, value(asked_for))) if name == "read" else seen(name, value)

    kind.__getattribute__ = attribute
    try:
        yield asked
    finally:
        del kind.__getattribute__


def _of_python(frame: Any) -> bool:
    """Code of Python's own that reads the environment for its caller: `os.getenv`, `Mapping.get`."""
    return frame.f_code.co_filename.startswith("<frozen") or frame.f_globals.get("__name__") in (
        "os",
        "collections.abc",
    )
