"""What a rule's code reads beside its arguments: variables of the environment, and settings of JAX."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import jax

from certgrad.process.threads import one_at_a_time

from .jax_internals import asks_for_others, from_library


def of_rule(frame: Any) -> bool:
    """The frame is of a rule's code: not of a library's, nor of certgrad's."""
    return frame is not None and not from_library(frame.f_code.co_filename) and not _of_certgrad(frame)


def _of_certgrad(frame: Any) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


@contextmanager
def _changed(kind: Any, changes: dict[str, Any]) -> Iterator[None]:
    """Attributes of a class, by name, set in a block; after it each is what it was, or not there."""
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

    with _changed(kind, {name: watching(name) for name in own}):
        yield read


WIDTHS = frozenset({"jax_enable_x64", "x64_enabled"})
"""The setting with which rules are traced and called both ways."""


@one_at_a_time
def settings_read(turned: Collection[str]) -> Iterator[dict[str, Any]]:
    """The settings of JAX that code outside the libraries reads, with their values; to it some are `turned`."""
    asked: dict[str, Any] = {}
    thread = get_ident()
    kind: Any = type(jax.config)

    def seen(name: str, value: Any) -> Any:
        asked[name] = value
        return not value if name in turned else value

    def attribute(self: Any, name: str) -> Any:
        value = object.__getattribute__(self, name)
        if get_ident() != thread or not of_rule(sys._getframe(1)):
            return value
        return (lambda asked_for: seen(asked_for, value(asked_for))) if name == "read" else seen(name, value)

    with _changed(kind, {"__getattribute__": attribute}):
        yield asked


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
