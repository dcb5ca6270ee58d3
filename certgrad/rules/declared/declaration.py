"""What the author of a rule says about it: shapes, static arguments, hypotheses, intent.

In this order: a declaration by `certgrad.declare`, one by name (`[tool.certgrad.signatures]`), jaxtyping annotations
of the function, the shapes of recorded calls.
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
"""By this name `inferred` marks the reason that `surrogate` gives."""
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*[.:][A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_KINDS = {"float": "", "int": ":int", "uint": ":int", "bool": ":bool"}


@dataclass(frozen=True)
class Declaration:
    """The arguments of `certgrad.check` for one rule. `origin` says where they come from."""

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
        """The arguments of `check` beside the signature."""
        return {"static": self.static, "differentiable": self.differentiable, "domain": self.domain}

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `check` beside the signature."""
        others = ("surrogate", "approximates", "sizes", "order")
        return self.claimed | {name: getattr(self, name) for name in others}

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of `domain`, each by itself."""
        return ((self.domain,) if self.domain else ()) if isinstance(self.domain, str) else tuple(self.domain)

    def without(self, marked: Sequence[str]) -> Declaration:
        """Return the declaration without conditions and surrogate that are marked as inferred."""
        kept = tuple(one for one in self.conditions if one not in marked)
        return replace(self, domain=kept, surrogate="" if SURROGATE in marked else self.surrogate)

    def with_objects(self) -> Declaration:
        """Return the declaration with objects in the place of their names, as a file has them.

        Raises UsageError for a name that leads nowhere, and for a text that may or may not be a name.
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
    found: Callable = _led_to(name, "function such as 'jax.numpy:exp'")
    return found


def _led_to(name: str, what: str) -> Any:
    """Return the object under a name of a module; `what` says in an error what should have been named."""
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"'{name}' names no {what}: {error}.") from None
    return found


def _object(argument: str, value: Any) -> Any:
    """Return a static value with objects in place of their names."""
    if isinstance(value, Referred):
        return _led_to(value.name, "object such as 'mypkg.physics:argon'")
    if isinstance(value, Each):
        return Each(tuple(_object("", one) for one in value.values))
    if argument and isinstance(value, str) and (name := _is_a_name(value)):
        raise UsageError(
            f"the static argument '{argument}' is the text '{value}', which also names an object: write "
            f'{argument} = {{ object = "{name}" }} for that, or {argument} = {{ each = ["{value}"] }} for the text.'
        )
    return value


def _is_a_name(text: str) -> str:
    """Return the text with the colon of a name, if it names something in a loaded module, else ""."""
    if not _NAME.fullmatch(text):
        return ""
    module, _, attribute = text.partition(":") if ":" in text else text.rpartition(".")
    found: Any = sys.modules.get(module)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return "" if found is None or isinstance(found, ModuleType) else f"{module}:{attribute}"


def declaration_of(function: Any, plain: Callable, annotated: bool = True) -> Declaration | None:
    """Return the declaration of a rule: on a wrapper, or else, if `annotated`, by its plain function's annotations."""
    said = _attached(function, _ATTRIBUTE)
    return said if said is not None or not annotated else _annotated(plain)


def marked_on(function: Any) -> Declaration | None:
    """Return a declaration marked as inferred beside a rule, on a wrapper, with its unmarked parts."""
    return _attached(function, _MARKED)


def _attached(function: Any, attribute: str) -> Declaration | None:
    layer = function
    for _ in range(16):
        found = getattr(layer, attribute, None)
        if isinstance(found, Declaration):
            return found
        layer = getattr(layer, "func", None) or getattr(layer, "fun", None) or getattr(layer, "__wrapped__", None)
        if layer is None:
            break
    return None


@dataclass(frozen=True)
class Annotated:
    """What the annotation of an argument says."""

    shape: str | None = None
    """As a signature writes it, without a dtype."""
    kind: str | None = None
    """The dtype as a signature writes it: empty for floats, `:int`, `:bool`."""
    scalar: bool = False
    """It is one number, or an array without axes."""


_NUMBERS: Mapping[Any, str] = {float: "", "float": "", int: ":int", "int": ":int", bool: ":bool", "bool": ":bool"}


def said_by(annotation: Any) -> Annotated:
    """Return what the annotation of an array says of it."""
    if isinstance(annotation, (type, str)) and annotation in _NUMBERS:
        return Annotated(kind=_NUMBERS[annotation], scalar=True)
    text = _array(annotation)
    if text is None:
        return Annotated()
    shape, colon, dtype = text.partition(":")
    return Annotated(shape if _is_signature(f"{shape} ->") else None, colon + dtype)


def _annotated(plain: Callable) -> Declaration | None:
    """Return the declaration that jaxtyping annotations spell: `Float[Array, "n d"]`. Arguments with a default are
    static. None where they do not spell the shapes of all others: `"..."` says nothing of shapes.
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
    output_shapes = [_array(one) for one in outputs]
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
    """`n d` or `n:int` for a jaxtyping annotation; None for anything else."""
    dims, dtypes = getattr(annotation, "dim_str", None), getattr(annotation, "dtypes", None)
    if not isinstance(dims, str) or dtypes is None:
        return None
    names = [str(d) for d in dtypes] if isinstance(dtypes, (list, tuple, set, frozenset)) else []
    kinds = {k for k in _KINDS if names and all(n.startswith(k) for n in names)}
    if any(n.startswith("complex") for n in names) and not any(n.startswith("float") for n in names):
        return None
    suffix = next((_KINDS[k] for k in ("bool", "int", "uint") if k in kinds), "")
    return f"{dims}{suffix}".strip()
