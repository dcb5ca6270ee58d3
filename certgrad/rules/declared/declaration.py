"""What the author of a rule declares about it: shapes, static arguments, hypotheses, intent.

The first of these counts: a declaration by `certgrad.declare`, one by name (`[tool.certgrad.signatures]`), jaxtyping
annotations of the function, the shapes of recorded calls.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from certgrad.errors import SignatureError, UsageError

from .statics import Default, Each, Referred, annotations_of

F = TypeVar("F", bound=Callable)
_ATTRIBUTE = "__certgrad__"
_MARKED = "__certgrad_inferred__"
SURROGATE = "surrogate"
"""The word in `inferred=` that marks the reason in `surrogate=`."""
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*[.:][A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_KINDS = {"float": "", "int": ":int", "uint": ":int", "bool": ":bool"}


@dataclass(frozen=True)
class Declaration:
    """The arguments of `certgrad.check` for one rule; `origin` is where they come from, such as "annotated"."""

    signature: str | Sequence[Any]
    static: Mapping[str, Any] = field(default_factory=dict)
    differentiable: Sequence[str] | None = None
    domain: str | Sequence[str] = ()
    surrogate: str = ""
    approximates: Callable | str | None = None
    sizes: Mapping[str, int] | Sequence[Mapping[str, int]] | None = ()
    order: int = 1
    origin: str = "declared"

    @property
    def claimed(self) -> dict[str, Any]:
        """The arguments of `check` that an audit's claims depend on, without the signature."""
        return {"static": self.static, "differentiable": self.differentiable, "domain": self.domain}

    @property
    def options(self) -> dict[str, Any]:
        """All arguments of `check` but the signature."""
        further = ("surrogate", "approximates", "sizes", "order")
        return self.claimed | {name: getattr(self, name) for name in further}

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of `domain` as a tuple; empty if there are none."""
        return ((self.domain,) if self.domain else ()) if isinstance(self.domain, str) else tuple(self.domain)

    def without(self, marked: Sequence[str]) -> Declaration:
        """Return the declaration without the conditions in `marked`, and without the surrogate if that is marked."""
        kept = tuple(condition for condition in self.conditions if condition not in marked)
        return replace(self, domain=kept, surrogate="" if SURROGATE in marked else self.surrogate)

    def with_objects(self) -> Declaration:
        """Return the declaration with static values that name an object, as in a TOML file, replaced by the object.

        Raises UsageError for a name of no object, and for a text that may be meant as one or as a name.
        """
        return replace(self, static={name: _object(name, value) for name, value in self.static.items()})


def declare(
    signature: str | Sequence[Any],
    *,
    static: Mapping[str, Any] | None = None,
    differentiable: Sequence[str] | None = None,
    domain: str | Sequence[str] = (),
    surrogate: str = "",
    approximates: Callable | str | None = None,
    sizes: Mapping[str, int] | Sequence[Mapping[str, int]] | None = (),
    order: int = 1,
    inferred: bool | Sequence[str] = False,
) -> Callable[[F], F]:
    """Say beside a rule what `certgrad audit` needs to know of it; takes the arguments of `certgrad.check`.

    @certgrad.declare("n d, d -> n d")
    @jax.custom_vjp
    def scale(x, w): ...

    Args:
        inferred: the mark of `certgrad audit --fix` on what it wrote: True for the whole declaration, or a list of
            conditions of `domain` and of "surrogate". What is marked does not count; an audit infers it anew, and
            remarks that nothing declares it, until the mark is removed.
    """
    said = Declaration(signature, dict(static or {}), differentiable, domain, surrogate, approximates, sizes, order)

    def mark(function: F) -> F:
        if inferred:
            setattr(function, _MARKED, said)
        if inferred is not True:
            marked = (inferred,) if isinstance(inferred, str) else inferred or ()
            setattr(function, _ATTRIBUTE, said.without(marked) if marked else said)
        return function

    return mark


def named_function(name: str) -> Callable:
    """Return the function that a text such as `jax.numpy:exp` names. Raises UsageError."""
    function: Callable = _led_to(name, "function such as 'jax.numpy:exp'")
    return function


def _led_to(name: str, what: str) -> Any:
    """Return the object that `module:name` names. Raises UsageError, in which `what` says what should be named."""
    module, _, attribute = name.partition(":")
    try:
        value: Any = import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"'{name}' names no {what}: {error}.") from None
    return value


def _object(argument: str, value: Any) -> Any:
    """Return the static value of an argument with objects in the place of their names.

    Raises UsageError for a plain text that is also the name of an object, unless `argument` is "".
    """
    if isinstance(value, Referred):
        return _led_to(value.name, "object such as 'mypkg.physics:argon'")
    if isinstance(value, Each):
        return Each(tuple(_object("", part) for part in value.values))
    if argument and isinstance(value, str) and (name := _is_a_name(value)):
        raise UsageError(
            f"the static argument '{argument}' is the text '{value}', which also names an object: write "
            f'{argument} = {{ object = "{name}" }} for that, or {argument} = {{ each = ["{value}"] }} for the text.'
        )
    return value


def _is_a_name(text: str) -> str:
    """Return the name `module:object` that a text is, also with a dot for the colon; "" if no loaded module has it."""
    if not _NAME.fullmatch(text):
        return ""
    module, _, attribute = text.partition(":") if ":" in text else text.rpartition(".")
    value: Any = sys.modules.get(module)
    for part in attribute.split("."):
        value = getattr(value, part, None)
    return "" if value is None or isinstance(value, ModuleType) else f"{module}:{attribute}"


def declaration_of(function: Any, plain: Callable, annotated: bool = True) -> Declaration | None:
    """Return the declaration on a rule or its wrappers, else, if `annotated`, that of the annotations; else None."""
    attached = _attached(function, _ATTRIBUTE)
    return attached if attached is not None or not annotated else _annotated(plain)


def marked_on(function: Any) -> Declaration | None:
    """Return the declaration on a rule or its wrappers of which all or a part is marked as inferred; None without."""
    return _attached(function, _MARKED)


def _attached(function: Any, attribute: str) -> Declaration | None:
    """Return the declaration in an attribute of a function, or of what its wrappers are around; None without one."""
    layer = function
    for _ in range(16):
        value = getattr(layer, attribute, None)
        if isinstance(value, Declaration):
            return value
        layer = getattr(layer, "func", None) or getattr(layer, "fun", None) or getattr(layer, "__wrapped__", None)
        if layer is None:
            break
    return None


@dataclass(frozen=True)
class Annotated:
    """What the annotation of an argument says of it; None for what it leaves open."""

    shape: str | None = None
    """The shape as a signature writes it, without a dtype."""
    kind: str | None = None
    """The dtype as a signature writes it: "" for floats, `:int`, `:bool`."""
    scalar: bool = False
    """Whether the argument is one number, or an array without axes."""


_NUMBERS: Mapping[Any, str] = {float: "", "float": "", int: ":int", "int": ":int", bool: ":bool", "bool": ":bool"}


def said_by(annotation: Any) -> Annotated:
    """Return the shape and dtype that an annotation says of an array, as far as it does."""
    if isinstance(annotation, (type, str)) and annotation in _NUMBERS:
        return Annotated(kind=_NUMBERS[annotation], scalar=True)
    text = _array(annotation)
    if text is None:
        return Annotated()
    shape, colon, dtype = text.partition(":")
    return Annotated(shape if _is_signature(f"{shape} ->") else None, colon + dtype)


def _annotated(plain: Callable) -> Declaration | None:
    """Return the declaration that jaxtyping annotations are: `Float[Array, "n d"]`.

    Other arguments that have a default are static. None is returned if an argument has neither, if none has a shape, or
    if the shapes are no signature, as `"..."` is none. Outputs without an annotated shape are left open.
    """
    annotations, result = annotations_of(plain)
    inputs: list[str] = []
    static: dict[str, Any] = {}
    for name, annotation in annotations.items():
        text, default = _array(annotation), inspect.signature(plain).parameters[name].default
        if text is not None:
            inputs.append(text)
        elif default is not inspect.Parameter.empty:
            static[name] = Default(default)
        else:
            return None
    outputs = result if isinstance(result, tuple) else getattr(result, "__args__", None) or (result,)
    output_shapes = [_array(annotation) for annotation in outputs]
    if not inputs:
        return None
    of_inputs = ", ".join(inputs)
    signature = f"{of_inputs} -> {', '.join(t for t in output_shapes if t is not None)}"
    if all(t is not None for t in output_shapes) and _is_signature(signature):
        return Declaration(signature, static, origin="annotated")
    return Declaration(of_inputs, static, origin="annotated") if _is_signature(f"{of_inputs} ->") else None


def _is_signature(text: str) -> bool:
    from certgrad.signatures.signature import parse  # with JAX, which reading a configuration does not need

    try:
        parse(text)
    except SignatureError:
        return False
    return True


def _array(annotation: Any) -> str | None:
    """Return `n d` or `n:int` for a jaxtyping annotation; None for any other one, and for complex arrays."""
    dims, dtypes = getattr(annotation, "dim_str", None), getattr(annotation, "dtypes", None)
    if not isinstance(dims, str) or dtypes is None:
        return None
    names = [str(d) for d in dtypes] if isinstance(dtypes, (list, tuple, set, frozenset)) else []
    kinds = {k for k in _KINDS if names and all(n.startswith(k) for n in names)}
    if any(n.startswith("complex") for n in names) and not any(n.startswith("float") for n in names):
        return None
    suffix = next((_KINDS[k] for k in ("bool", "int", "uint") if k in kinds), "")
    return f"{dims}{suffix}".strip()
