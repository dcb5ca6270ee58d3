"""Calls outside of any trace, as a user makes them, computed by numpy where it can.

JAX compiles each operation anew for each shape and dtype, which takes a hundred times longer than the operation. What
code sees there are arrays of JAX; who computed the numbers in them it cannot tell. So while a rule is called, numpy
computes what it can, and JAX the rest.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax._src import core as _core
from jax._src import pjit as _pjit
from jax._src import xla_bridge as _bridge
from jax._src.interpreters import pxla as _pxla
from jax.core import ShapedArray

from certgrad.jaxpr.keys import is_key
from certgrad.process.threads import one_at_a_time

Compute = Callable[[str, dict[str, Any], list[np.ndarray], Sequence[Any]], list[np.ndarray]]
"""compute(primitive, params, operands, output types): the outputs. It raises where it cannot."""


class EndlessError(Exception):
    """A loop takes more steps than are done here, and may take any number."""


@one_at_a_time
def computed_by(compute: Compute) -> Iterator[None]:
    """Have this thread's operations outside of traces done by `compute`; by JAX where that raises."""
    plain: Any = _core.EvalTrace.process_primitive
    compiled: Any = getattr(_pjit, "_pjit_call_impl_python", None)
    owner = threading.get_ident()

    def ours(primitive: Any, args: Any, params: Any) -> Any:
        """Return the operation's result by `compute`; None where JAX has to compute it."""
        if threading.get_ident() == owner:
            try:
                return _computed(compute, primitive, args, params)
            except EndlessError:  # where JAX would not come to an end either
                raise
            except Exception:
                pass
        return None

    def process(self: Any, primitive: Any, args: Any, params: Any, /) -> Any:
        found = ours(primitive, args, params)
        return plain(self, primitive, args, params) if found is None else found

    def call(*args: Any, **params: Any) -> Any:
        """A function under `jit`, of JAX's or the user's: without an executable JAX asks for it again next time."""
        found = ours(_pjit.jit_p, args, params)
        if found is not None:
            return found, None, None, []
        return compiled(*args, **params)

    try:
        _core.EvalTrace.process_primitive = process  # type: ignore[method-assign]
        if compiled is not None:
            _pjit._pjit_call_impl_python = call
        yield
    finally:
        _core.EvalTrace.process_primitive = plain  # type: ignore[method-assign]
        if compiled is not None:
            _pjit._pjit_call_impl_python = compiled


def _computed(compute: Compute, primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    avals = [_core.typeof(x) for x in args]
    found, effects = primitive.abstract_eval(*avals, **params)
    outs = list(found) if primitive.multiple_results else [found]
    if effects or not all(_of_numbers(a) or is_key(a.dtype) for a in (*avals, *outs)):
        raise NotImplementedError
    operands = [np.asarray(x) if _of_numbers(a) else x for x, a in zip(args, avals, strict=True)]
    values = compute(primitive.name, params, operands, outs)
    made = [array_of(v, a) if _of_numbers(a) else v for v, a in zip(values, outs, strict=True)]
    return made if primitive.multiple_results else made[0]


def _of_numbers(aval: Any) -> bool:
    """Return whether it is an array of numbers or truth values: not of keys, and nothing that is no array."""
    return isinstance(aval, ShapedArray) and isinstance(aval.dtype, np.dtype) and aval.dtype != jax.dtypes.float0


@lru_cache(maxsize=1)
def _processor() -> tuple[Any, Any]:
    device = jax.local_devices(backend="cpu")[0]
    return device, jax.sharding.SingleDeviceSharding(device)


def array_of(value: np.ndarray, aval: Any) -> Any:
    """An array of JAX's that holds these numbers, of exactly this type, weakness included."""
    device, sharding = _processor()
    if value.shape != aval.shape:
        value = np.broadcast_to(value, aval.shape)
    data = np.array(value, dtype=aval.dtype, order="C")
    aval = ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)
    return _pxla.batched_device_put(aval, sharding, [data], [device], committed=False)


def typed(value: np.ndarray, weak: bool = False) -> Any:
    """An array of JAX's with the numbers and the dtype of one of numpy's."""
    return array_of(value, ShapedArray(value.shape, value.dtype, weak_type=weak))


_PLATFORM_OF = {"cuda": "gpu", "rocm": "gpu"}


@dataclass(frozen=True)
class Questions:
    """The questions that code asked about devices."""

    platform: list[str] = field(default_factory=list)
    """By the functions of JAX that answer."""
    device: list[str] = field(default_factory=list)
    """The attributes of a device of another platform."""
    number: list[str] = field(default_factory=list)
    """How many there are, of devices or processes."""


@one_at_a_time
def seen_platform(name: str, asked_by_rule: Callable[[Any], bool]) -> Iterator[Questions]:
    """Let code outside the libraries find that JAX runs on the platform `name`, with one device and process more than
    here.

    An empty name leaves it as it is. Yields the questions that such code asks, but for those about the CPU, which is
    there beside any platform.
    """
    own, thread = _bridge.get_backend, threading.get_ident()
    asked = Questions()

    def of_device(attribute: str) -> None:
        if threading.get_ident() == thread and asked_by_rule(sys._getframe(2)):
            asked.device.append(attribute)

    def get_backend(platform: Any = None) -> Any:
        frame: Any = sys._getframe(1)
        question = "get_backend"
        while frame is not None and frame.f_globals.get("__name__") in (_bridge.__name__, __name__):
            question = frame.f_code.co_name
            frame = frame.f_back
        by_rule = asked_by_rule(frame)
        if threading.get_ident() != thread or not by_rule or platform == "cpu":  # every machine has a processor
            return own(platform)
        asked.platform.append(question)
        if question in _COUNTS:
            asked.number.append(question)
        if not name or platform is None:
            return _Elsewhere(own(), name, of_device) if name else own(platform)
        if _PLATFORM_OF.get(platform, platform) == name:
            return _Elsewhere(own(), name, of_device)
        raise RuntimeError(f"Unknown backend {platform}. Available backends are ['{name}', 'cpu']")

    def counted(listed: Callable[..., Any]) -> Callable[..., Any]:
        def devices(*args: Any, **kwargs: Any) -> Any:
            found = listed(*args, **kwargs)
            by_rule = threading.get_ident() == thread and asked_by_rule(sys._getframe(1))
            return _Listed(found, lambda: asked.number.append(listed.__name__)) if by_rule else found

        return devices

    cached = [(m, n, getattr(m, n)) for m in (jax, _bridge) for n in ("local_devices", "process_count", "devices")]
    named = [m for m in (_bridge, sys.modules.get("jax.extend.backend")) if m is not None]
    try:
        for module in named:
            module.get_backend = get_backend  # type: ignore[attr-defined]
        for module, function, kept in cached:
            anew = getattr(kept, "__wrapped__", kept)  # what was answered before would hide the question
            setattr(module, function, counted(anew) if function in ("devices", "local_devices") else anew)
        yield asked
    finally:
        for module in named:
            module.get_backend = own  # type: ignore[attr-defined]
        for module, function, kept in cached:
            setattr(module, function, kept)


_COUNTS = ("device_count", "local_device_count", "process_count")


class _Listed(list):
    """A list of devices that notes when it is iterated over or counted."""

    def __init__(self, devices: Sequence[Any], told: Callable[[], None]) -> None:
        super().__init__(devices)
        self._told = told

    def __len__(self) -> int:
        self._told()
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._told()
        return super().__iter__()


class _Elsewhere:
    """A backend or a device that says it is of another platform.

    There is one more of them than here, which belongs to a process of its own, the one that asks.
    """

    def __init__(self, own: Any, platform: str, told: Callable[[str], None], processes: int = 0) -> None:
        self._own, self.platform, self._told, self._processes = own, platform, told, processes

    def __getattr__(self, name: str) -> Any:
        self._told(name)
        return getattr(self._own, name)

    @property
    def process_index(self) -> Any:
        """`process_index` is an int on devices and a method on backends."""
        index = self._own.process_index
        return (lambda: index() + 1) if callable(index) else index + self._processes

    def devices(self) -> list[Any]:
        own = self._own.devices()
        more = _Elsewhere(own[-1], self.platform, self._told, 1)
        return [*(_Elsewhere(d, self.platform, self._told) for d in own), more]

    def local_devices(self) -> list[Any]:
        return self.devices()[-1:]

    def device_count(self) -> int:
        return len(self.devices())

    def local_device_count(self) -> int:
        return len(self.devices())

    def process_count(self) -> int:
        return self._own.process_count() + 1
