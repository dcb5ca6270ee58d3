"""What code reads beside its arguments: environment variables, settings of JAX, the platform and its devices.

These reads are recorded while the code is traced or called, so that it does not matter by which names code makes them.
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
    """Return whether a frame is of a rule's code: no library's, and not certgrad's but for its ops. False for None."""
    return frame is not None and not from_library(frame.f_code.co_filename) and not _of_certgrad(frame)


def _of_certgrad(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


@contextmanager
def _changed(kind: Any, changes: dict[str, Any]) -> Iterator[None]:
    """Set attributes of a class in the context; afterwards each is as before, deleted if it was absent."""
    before = {name: vars(kind).get(name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(kind, name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                delattr(kind, name)
            else:
                setattr(kind, name, value)


@one_at_a_time
def watched_environment(files: Collection[str]) -> Iterator[list[str]]:
    """Yield a list that fills with the environment variables that code in these files reads, itself or by its calls."""
    read: list[str] = []
    thread = get_ident()
    kind: Any = type(os.environ)
    plain = {name: getattr(kind, name) for name in ("__getitem__", "__iter__", "__len__")}

    def noting(name: str) -> Callable[..., Any]:
        def ask(self: Any, *args: Any) -> Any:
            if get_ident() == thread and _reads(sys._getframe(1), files):
                read.append(str(args[0]) if args else "all of it")
            return plain[name](self, *args)

        return ask

    with _changed(kind, {name: noting(name) for name in plain}):
        yield read


NONE: Mapping[str, Any] = {}
WIDTHS = frozenset({"jax_enable_x64", "x64_enabled"})
"""Names of the setting for 64-bit floats: rules are traced and called with both of its values anyway."""


def other_values(name: str, value: Any) -> list[Any]:
    """Return the values of a setting of JAX other than `value`; [] where they cannot be listed."""
    if isinstance(value, bool):
        return [not value]
    listed = getattr(jax.config, "meta", {}).get(name, ("", (), {}))[2].get("enum_values") or []
    return [candidate for candidate in listed if candidate != value]


@one_at_a_time
def settings_read(turned: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a dictionary that fills with the settings of JAX that code outside the libraries reads, and their values.

    For such code the settings in `turned` have the values given there.
    """
    settings: dict[str, Any] = {}
    thread = get_ident()
    kind: Any = type(jax.config)

    def note(name: str, value: Any) -> Any:
        settings[name] = value
        return turned.get(name, value)

    def attribute(self: Any, name: str) -> Any:
        """Return an attribute of JAX's configuration; a read by a rule's code is noted, and answered by `turned`."""
        value = object.__getattribute__(self, name)
        if get_ident() != thread or not of_rule(sys._getframe(1)):
            return value
        # `jax.config.read(setting)` is another way to read a setting.
        return (lambda setting: note(setting, value(setting))) if name == "read" else note(name, value)

    with _changed(kind, {"__getattribute__": attribute}):
        yield settings


@dataclass
class Heard:
    """What code outside the libraries asked of its surroundings; False as a truth value if it asked nothing."""

    environment: list[str] = field(default_factory=list)
    devices: Questions = field(default_factory=Questions)
    settings: dict[str, Any] = field(default_factory=dict)

    def problem(self) -> str:
        """Return a question for which no other answer can be tried here, in words; "" if there is none."""
        if self.environment:
            return f"it reads the environment ({self.environment[0]}): where that is another, it may do other things"
        if self.devices.device:
            return f"it asks a device for its {self.devices.device[0]}: where that is another, it may do other things"
        if self.devices.number:
            question = self.devices.number[0]
            return f"it asks how many there are ({question}): where that is another, it may do other things"
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
    """Yield a record that fills with what code asks: of the environment, code in these files; else, code of no library.

    To such code JAX seems to run on `platform`, or on its own if that is "", and the settings in `turned` to have the
    values given there.
    """
    with ExitStack() as stack:
        yield Heard(
            stack.enter_context(watched_environment(files)),
            stack.enter_context(seen_platform(platform, of_rule)),
            stack.enter_context(settings_read(turned)),
        )


def _reads(frame: Any, files: Collection[str]) -> bool:
    """Return whether a read in this frame is by code in these files, itself or through the standard library or numpy.

    What JAX reads is not, even where users' code calls it; nor what a module reads while it is imported, as JAX imports
    parts of scipy when they are first needed.
    """
    while frame is not None and not _of_certgrad(frame):
        file = frame.f_code.co_filename
        if file.startswith("<frozen importlib") or (from_library(file) and not asks_for_others(file)):
            return False
        if file in files:
            return True
        frame = frame.f_back
    return False
