"""What code reads beside its arguments: environment variables, settings of JAX, the platform and its devices.

It is heard while the code is traced or called, whatever names it goes by.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import jax

from certgrad.process.threads import one_at_a_time

from .jax_internals import Questions, asks_for_others, from_library, seen_platform


def of_rule(frame: Any) -> bool:
    """Return whether the frame is of a rule's code: not of a library's, nor of certgrad's."""
    return frame is not None and not from_library(frame.f_code.co_filename) and not _of_certgrad(frame)


def _of_certgrad(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


@contextmanager
def _changed(kind: Any, changes: dict[str, Any]) -> Iterator[None]:
    """Set attributes of a class in a block; afterwards each is what it was, or absent."""
    before = {name: vars(kind).get(name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(kind, name, value)
        yield
    finally:
        for name, own in before.items():
            if own is None:
                delattr(kind, name)
            else:
                setattr(kind, name, own)


@one_at_a_time
def watched_environment(files: Collection[str]) -> Iterator[list[str]]:
    """Yield the names of environment variables that code in these files reads, itself or by what it calls."""
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

    with _changed(kind, {name: watching(name) for name in own}):
        yield read


NONE: Mapping[str, Any] = {}
WIDTHS = frozenset({"jax_enable_x64", "x64_enabled"})
"""The setting with which rules are traced and called both ways."""


def other_values(name: str, value: Any) -> list[Any]:
    """Return the other values of a setting of JAX; none where they cannot be listed."""
    if isinstance(value, bool):
        return [not value]
    listed = getattr(jax.config, "meta", {}).get(name, ("", (), {}))[2].get("enum_values") or []
    return [other for other in listed if other != value]


@one_at_a_time
def settings_read(turned: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings of JAX that code outside the libraries reads, with their values; for it some are `turned`."""
    asked: dict[str, Any] = {}
    thread = get_ident()
    kind: Any = type(jax.config)

    def seen(name: str, value: Any) -> Any:
        asked[name] = value
        return turned.get(name, value)

    def attribute(self: Any, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if get_ident() != thread or not of_rule(sys._getframe(1)):
            return value
        return (lambda asked_for: seen(asked_for, value(asked_for))) if name == "read" else seen(name, value)

    with _changed(kind, {"__getattribute__": attribute}):
        yield asked


@dataclass
class Heard:
    """The questions that code outside the libraries asked of its surroundings."""

    environment: list[str] = field(default_factory=list)
    devices: Questions = field(default_factory=Questions)
    settings: dict[str, Any] = field(default_factory=dict)

    def problem(self) -> str:
        """Return a question that cannot be answered otherwise here, or ""."""
        if self.environment:
            return f"it reads the environment ({self.environment[0]}): where that is another, it may do other things"
        if self.devices.device:
            return f"it asks a device for its {self.devices.device[0]}: where that is another, it may do other things"
        if self.devices.number:
            asked = self.devices.number[0]
            return f"it asks how many there are ({asked}): where that is another, it may do other things"
        for name, value in self.settings.items():
            if not other_values(name, value):
                return f"it asks for a setting of JAX ({name}), and where that is another it may do other things"
        return ""

    def __bool__(self) -> bool:
        devices = self.devices
        return any((self.environment, devices.platform, devices.device, devices.number, self.settings))

    def add(self, other: Heard) -> None:
        """Add the questions of another trace."""
        self.environment.extend(other.environment)
        self.devices.platform.extend(other.devices.platform)
        self.devices.device.extend(other.devices.device)
        self.devices.number.extend(other.devices.number)
        self.settings.update(other.settings)


@contextmanager
def hearing(files: Collection[str], platform: str = "", turned: Mapping[str, Any] = NONE) -> Iterator[Heard]:
    """Hear the questions in a block: on the environment by code in these files, others by code of no library.

    JAX runs on the `platform` there, on its own if none is named, and users' code finds the settings `turned` at these
    values.
    """
    with ExitStack() as stack:
        yield Heard(
            stack.enter_context(watched_environment(files)),
            stack.enter_context(seen_platform(platform, of_rule)),
            stack.enter_context(settings_read(turned)),
        )


def _reads(frame: Any, files: Collection[str]) -> bool:
    """Return whether a read is by code in these files, itself or by what it calls.

    Callbacks from JAX read for JAX, and a module that is imported, as JAX imports parts of scipy when they are first
    needed, for itself.
    """
    while frame is not None and not _of_certgrad(frame):
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or (from_library(file) and not asks_for_others(file)):
            return False
        if file in files:
            return True
        frame = frame.f_back
    return False
