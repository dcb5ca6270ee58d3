"""Calls outside of any trace, as a user makes them, computed by numpy where it can.

JAX compiles each operation anew for each shape and dtype, which takes a hundred times longer than the operation. Code
that is called sees arrays of JAX, and cannot tell what computed the numbers in them. So while a rule is called, numpy
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
"""compute(primitive, params, operands, output types) returns the outputs. It raises where it cannot compute them."""


class EndlessError(Exception):
    """A loop has taken as many steps as are tried here, and may be endless."""


@one_at_a_time
def computed_by(compute: Compute) -> Iterator[None]:
    """In the context, have this thread's operations outside of traces done by `compute`; by JAX where that raises."""
    plain: Any = _core.EvalTrace.process_primitive
    compiled: Any = getattr(_pjit, "_pjit_call_impl_python", None)
    owner = threading.get_ident()

    def ours(primitive: Any, args: Any, params: Any) -> Any:
        """Return the operation's result by `compute`; None where JAX has to compute it. Raises EndlessError."""
        if threading.get_ident() == owner:
            try:
                return _computed(compute, primitive, args, params)
            except EndlessError:  # JAX might not come to an end either
                raise
            except Exception:
                pass
        return None

    def process(self: Any, primitive: Any, args: Any, params: Any, /) -> Any:
        result = ours(primitive, args, params)
        return plain(self, primitive, args, params) if result is None else result

    def call(*args: Any, **params: Any) -> Any:
        """Run a function under `jit`. No executable is returned with the result, so that JAX calls this each time."""
        result = ours(_pjit.jit_p, args, params)
        if result is not None:
            return result, None, None, []
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
    """Return an operation's result by `compute`, as arrays of JAX's; keys are passed on as they are.

    Raises NotImplementedError for operations with effects, and for values that are neither numbers nor keys.
    """
    avals = [_core.typeof(x) for x in args]
    out_type, effects = primitive.abstract_eval(*avals, **params)
    outs = list(out_type) if primitive.multiple_results else [out_type]
    if effects or not all(_of_numbers(a) or is_key(a.dtype) for a in (*avals, *outs)):
        raise NotImplementedError
    operands = [np.asarray(x) if _of_numbers(a) else x for x, a in zip(args, avals, strict=True)]
    values = compute(primitive.name, params, operands, outs)
    results = [array_of(v, a) if _of_numbers(a) else v for v, a in zip(values, outs, strict=True)]
    return results if primitive.multiple_results else results[0]


def _of_numbers(aval: Any) -> bool:
    """Return whether a type is that of an array of numbers or booleans, not of keys or float0."""
    return isinstance(aval, ShapedArray) and isinstance(aval.dtype, np.dtype) and aval.dtype != jax.dtypes.float0


@lru_cache(maxsize=1)
def _processor() -> tuple[Any, Any]:
    device = jax.local_devices(backend="cpu")[0]
    return device, jax.sharding.SingleDeviceSharding(device)


def array_of(value: np.ndarray, aval: Any) -> Any:
    """Return an array of JAX's with these numbers, broadcast and cast to exactly this type, weak or not."""
    device, sharding = _processor()
    if value.shape != aval.shape:
        value = np.broadcast_to(value, aval.shape)
    data = np.array(value, dtype=aval.dtype, order="C")
    aval = ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)
    return _pxla.batched_device_put(aval, sharding, [data], [device], committed=False)


def typed(value: np.ndarray, weak: bool = False) -> Any:
    """Return an array of JAX's with the numbers and the dtype of a numpy array, weakly typed if `weak`."""
    return array_of(value, ShapedArray(value.shape, value.dtype, weak_type=weak))


_PLATFORM_OF = {"cuda": "gpu", "rocm": "gpu"}


@dataclass(frozen=True)
class Questions:
    """The questions that code asked about devices, in order."""

    platform: list[str] = field(default_factory=list)
    """Names of the functions of JAX that code called, whose answer depends on the platform."""
    device: list[str] = field(default_factory=list)
    """Names of the attributes that code read of a device or a backend of the supposed platform."""
    number: list[str] = field(default_factory=list)
    """Names of the functions by which code asked how many devices or processes there are."""


@one_at_a_time
def seen_platform(name: str, asked_by_rule: Callable[[Any], bool]) -> Iterator[Questions]:
    """Let a rule's code find that JAX runs on the platform `name`, with one more device and process than there are.

    With the name "" the platform stays as it is. Yields a record that fills with the questions about devices that such
    code asks, but for those about the CPU, which exists beside any platform. `asked_by_rule` says of a frame whether it
    is of a rule's code.
    """
    plain_backend, thread = _bridge.get_backend, threading.get_ident()
    questions = Questions()

    def of_device(attribute: str) -> None:
        if threading.get_ident() == thread and asked_by_rule(sys._getframe(2)):
            questions.device.append(attribute)

    def get_backend(platform: Any = None) -> Any:
        """Return JAX's backend; to a rule's code a stand-in of the platform `name`, and note the question."""
        frame: Any = sys._getframe(1)
        # The question is the outermost function of JAX's: `jax.devices()` calls `get_backend` by others in between.
        question = "get_backend"
        while frame is not None and frame.f_globals.get("__name__") in (_bridge.__name__, __name__):
            question = frame.f_code.co_name
            frame = frame.f_back
        by_rule = asked_by_rule(frame)
        if threading.get_ident() != thread or not by_rule or platform == "cpu":  # every machine has a processor
            return plain_backend(platform)
        questions.platform.append(question)
        if question in _COUNTS:
            questions.number.append(question)
        if not name or platform is None:
            return _Elsewhere(plain_backend(), name, of_device) if name else plain_backend(platform)
        if _PLATFORM_OF.get(platform, platform) == name:
            return _Elsewhere(plain_backend(), name, of_device)
        raise RuntimeError(f"Unknown backend {platform}. Available backends are ['{name}', 'cpu']")

    def counted(listed: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function like `jax.devices` whose list, for a rule's code, notes when it is counted."""

        def devices(*args: Any, **kwargs: Any) -> Any:
            result = listed(*args, **kwargs)
            by_rule = threading.get_ident() == thread and asked_by_rule(sys._getframe(1))
            return _Listed(result, lambda: questions.number.append(listed.__name__)) if by_rule else result

        return devices

    cached = [(m, n, getattr(m, n)) for m in (jax, _bridge) for n in ("local_devices", "process_count", "devices")]
    with_backend = [m for m in (_bridge, sys.modules.get("jax.extend.backend")) if m is not None]
    try:
        for module in with_backend:
            module.get_backend = get_backend  # type: ignore[attr-defined]
        for module, function, kept in cached:
            uncached = getattr(kept, "__wrapped__", kept)  # an answer from its cache would hide the question
            setattr(module, function, counted(uncached) if function in ("devices", "local_devices") else uncached)
        yield questions
    finally:
        for module in with_backend:
            module.get_backend = plain_backend  # type: ignore[attr-defined]
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
    """A stand-in for a backend or a device, of another platform, that reports which attributes are read of it (`told`).

    It claims one more device and one more process than there are. The further device belongs to the further process,
    and that is the process that asks: its only local device is that one.
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
        devices = self._own.devices()
        further = _Elsewhere(devices[-1], self.platform, self._told, 1)
        return [*(_Elsewhere(d, self.platform, self._told) for d in devices), further]

    def local_devices(self) -> list[Any]:
        return self.devices()[-1:]

    def device_count(self) -> int:
        return len(self.devices())

    def local_device_count(self) -> int:
        return len(self.devices())

    def process_count(self) -> int:
        return self._own.process_count() + 1
