"""What a rule is traced in: a dtype, JAX's settings and platform, the mesh of devices, the environment of the process.

A trace shows what the rule does in its surroundings, and what it asks for there is heard. Code that reads the
environment, or a setting that is no yes or no, is told of, as nobody can say what stands there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from threading import get_ident
from typing import Any

import jax
from jax.sharding import AbstractMesh

from certgrad._threads import one_at_a_time

from ..tracing.jax_internals import (
    Questions,
    asks_for_others,
    from_library,
    inside_of_shard_map,
    seen_platform,
    sharded_by_types,
)

PLATFORMS = ("tpu", "gpu", "cpu")
AXIS = "certgrad"
"""An axis of a mesh."""


@dataclass(frozen=True)
class Way:
    """One way in which a rule can be traced: in a dtype, and in surroundings."""

    dtype: str
    wide: bool = False
    """A narrow dtype while JAX computes in 64 bits."""
    alone: int | None = None
    """The one array of floats, by its place among them, that is of the dtype where the others are of 64 bits."""
    mapped: bool = False
    """As inside of `shard_map`."""
    explicit: bool = False
    """On arrays whose first axis lies along one of a mesh, and whose types say so."""
    platform: str = ""
    asked: str = field(default="", compare=False)
    """The question that the platform answers."""
    turned: tuple[str, ...] = ()
    """The settings of JAX that are others to the code that asks for them."""

    @property
    def is_plain(self) -> bool:
        """Nothing is other than where the rule is traced."""
        return not (self.wide or self.mapped or self.explicit or self.platform or self.turned)

    def __str__(self) -> str:
        """A clause that lacks its verb: `it asks for the platform (default_backend), and on a gpu it`."""
        asked = [f"a setting of JAX ({name})" for name in self.turned]
        asked += [f"the platform ({self.asked})"] if self.platform else []
        among = "in" if self.alone is None else "with one array of"
        where = f"traced {among} {self.dtype} under x64 " * self.wide + "inside of a shard_map " * self.mapped
        where += "on arrays that are sharded by their types " * self.explicit
        if not asked:
            return f"{where}it"
        other = ["where that is another"] * bool(self.turned) + [f"on a {self.platform}"] * bool(self.platform)
        return f"{where}it asks for {' and for '.join(asked)}, and {', '.join(other)} it"

    def others(self, heard: Heard) -> Iterator[Way]:
        """The ways in which one more of what was asked for is another."""
        for name, value in heard.settings.items():
            if name not in self.turned and isinstance(value, bool):
                yield replace(self, turned=tuple(sorted((*self.turned, name))))
        if heard.devices.platform and not self.platform:
            for platform in PLATFORMS:
                yield replace(self, platform=platform, asked=heard.devices.platform[0])


@dataclass
class Heard:
    """What code outside the libraries asked for."""

    environment: list[str] = field(default_factory=list)
    devices: Questions = field(default_factory=Questions)
    settings: dict[str, Any] = field(default_factory=dict)
    meshes: list[str] = field(default_factory=list)

    def problem(self) -> str:
        """What nobody can turn; or nothing."""
        if self.environment:
            return f"it reads the environment ({self.environment[0]}): where that is another, it may do other things"
        if self.devices.device:
            return f"it asks a device for its {self.devices.device[0]}: where that is another, it may do other things"
        if self.devices.number:
            asked = self.devices.number[0]
            return f"it asks how many there are ({asked}): where that is another, it may do other things"
        if self.meshes:
            return f"it asks a mesh for its {self.meshes[0]}: where that is another, it may do other things"
        for name, value in self.settings.items():
            if not isinstance(value, bool):
                return f"it asks for a setting of JAX ({name}), and where that is another it may do other things"
        return ""


@contextmanager
def surroundings(way: Way, axes: Sequence[str], files: Collection[str]) -> Iterator[Heard]:
    """Those of a way to trace code in these files; over a mesh with these axes where it is mapped."""
    with ExitStack() as stack:
        if way.explicit:
            stack.enter_context(sharded_by_types(axes))
        if way.mapped:
            stack.enter_context(inside_of_shard_map(dict.fromkeys(axes, 2)))
        heard = Heard(
            stack.enter_context(_watched_environment(files)),
            stack.enter_context(seen_platform(way.platform, of_rule)),
            stack.enter_context(_settings(way.turned)),
        )
        if way.mapped or way.explicit:
            stack.enter_context(_asked_of_meshes(heard.meshes))
        yield heard


def of_rule(frame: Any) -> bool:
    """The frame is of a rule's code: not of a library's, nor of certgrad's."""
    return frame is not None and not from_library(frame.f_code.co_filename) and not _of_certgrad(frame)


def _of_certgrad(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


@contextmanager
def changed(changes: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Attributes of classes, by class and name, set in a block; after it each is what it was, or not there."""
    before = [(kind, name, vars(kind).get(name)) for kind, name, _ in changes]
    try:
        for change in changes:
            setattr(*change)
        yield
    finally:
        for kind, name, own in before:
            if own is None:
                delattr(kind, name)
            else:
                setattr(kind, name, own)


@one_at_a_time
def _watched_environment(files: Collection[str]) -> Iterator[list[str]]:
    """The names of variables of the environment that code in these files reads, or what it calls."""
    read: list[str] = []
    thread = get_ident()
    kind: Any = type(os.environ)
    own = {name: getattr(kind, name) for name in ("__getitem__", "__iter__", "__len__")}

    def watching(name: str) -> Callable[..., Any]:
        def ask(self: Any, *args: Any) -> Any:
            if get_ident() == thread and _reads(sys._getframe(1), files):
                read.append(str(args[0]) if args else "all of it")
            return own[name](self, *args)

        return ask

    with changed([(kind, name, watching(name)) for name in own]):
        yield read


WIDTHS = ("jax_enable_x64", "x64_enabled")
"""The setting with which rules are traced and called both ways anyway."""


@one_at_a_time
def _settings(turned: Collection[str]) -> Iterator[dict[str, Any]]:
    """The settings of JAX that code outside the libraries reads, with their values; to it some are `turned`."""
    asked: dict[str, Any] = {}
    thread = get_ident()
    kind: Any = type(jax.config)

    def seen(name: str, value: Any) -> Any:
        if name in WIDTHS:
            return value
        asked[name] = value
        return not value if name in turned else value

    def attribute(self: Any, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if get_ident() != thread or not of_rule(sys._getframe(1)):
            return value
        return (lambda asked_for: seen(asked_for, value(asked_for))) if name == "read" else seen(name, value)

    with changed([(kind, "__getattribute__", attribute)]):
        yield asked


OF_MESHES = frozenset("size shape axis_sizes axis_types shape_tuple".split())
"""What a mesh says of how many devices lie along its axes. The names of axes are those that stand in the code."""


@one_at_a_time
def _asked_of_meshes(asked: list[str]) -> Iterator[None]:
    """What code outside the libraries asks a mesh."""
    thread = get_ident()
    kind: Any = AbstractMesh
    before = kind.__getattribute__

    def attribute(self: Any, name: str) -> Any:
        if name in OF_MESHES and get_ident() == thread and of_rule(sys._getframe(1)):
            asked.append(name)
        return before(self, name)

    with changed([(kind, "__getattribute__", attribute)]):
        yield


def _reads(frame: Any, files: Collection[str]) -> bool:
    """Whether code in these files reads, itself or by what it calls.

    What JAX calls on its own reads for JAX, and a module that is imported, as JAX imports parts of scipy when they are
    first needed, for itself.
    """
    while frame is not None and not _of_certgrad(frame):
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or (from_library(file) and not asks_for_others(file)):
            return False
        if file in files:
            return True
        frame = frame.f_back
    return False
