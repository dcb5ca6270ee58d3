"""Signatures of functions of nested arguments: `"{w: d m, b: m}, (n d, n:int) -> n m"`.

Where an argument is a dict, tuple, list or `None`, its shapes are written as one; an object of a named tuple or of a
dataclass that JAX can flatten is written as `Params(w: d m, b: m, bias=True)`, where the rule's module, its code or its
annotations name the class. For other classes that JAX can flatten, the arguments are given as a tuple of objects with
texts for arrays: `(Params(w="d m", b="m"), "n d")`.

An array of complex numbers is two of real ones, the real and the imaginary parts: `n:complex` for z is `z_re`, `z_im`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.errors import SignatureError
from certgrad.signatures.nested import OfClass, has_fields, nested, split_at_commas
from certgrad.signatures.signature import PARTS, ArraySpec, Signature, parse

_LITERAL = re.compile(r"[\w.+-]+|'[\w .+-]*'")
"""Values of fields that a signature says: numbers, words and short texts."""
jax.tree_util.register_dataclass(OfClass, ["fields"], ["name", "values"])


@dataclass(frozen=True)
class Argument:
    """An argument: its arrays of real numbers by name, and how they are put together."""

    name: str
    leaves: tuple[str, ...]
    specs: tuple[ArraySpec, ...]
    tree: Any
    pairs: tuple[bool, ...]
    """Of each array of the argument, whether it is complex, and so two of the `leaves`."""

    def cotangents(self, returned: Any) -> list[Any]:
        """Return, for each of the `leaves`, its part of the returned cotangent; None where it has none."""
        try:
            found = self.tree.flatten_up_to(returned)
        except (ValueError, TypeError):
            return [None] * len(self.leaves)
        return [part for part, pair in zip(found, self.pairs, strict=True) for _ in range(1 + pair)]

    def made_of(self, parts: Sequence[Any], joined: Callable[[Any, Any], Any] = lax.complex) -> Any:
        """Return the argument, of what stands for each of the `leaves`."""
        rest = iter(parts)
        return jax.tree_util.tree_unflatten(
            self.tree, [joined(next(rest), next(rest)) if pair else next(rest) for pair in self.pairs]
        )


@dataclass(frozen=True)
class Declared:
    """The arguments that hold arrays, not yet named, and the outputs' shapes, if they are stated."""

    inputs: tuple[Any, ...]
    outputs: tuple[ArraySpec, ...] | None


def parse_structure(signature: str | Sequence[Any]) -> Declared:
    """Return the structure of a signature. Raises SignatureError where it does not parse."""
    if not isinstance(signature, str):
        return Declared(tuple(signature), None)
    left, arrow, right = signature.partition("->")
    if "->" in right:
        parse(signature, pairs=True)  # says what is wrong
    inputs = tuple(_side(left, signature))
    outputs = tuple(jax.tree_util.tree_leaves(list(_side(right, signature)))) if arrow else None
    shown = ", ".join(jax.tree_util.tree_leaves(list(inputs)))
    flat = parse(f"{shown} -> {', '.join(outputs or ())}" if shown or outputs else " -> ", pairs=True)
    stated = tuple(part for spec in flat.outputs for _, part in _named_real_parts("", spec))
    return Declared(inputs, None if outputs is None else stated if outputs else ())


def with_objects(inputs: Sequence[Any], class_of: Callable[[str], type | None]) -> tuple[Any, ...]:
    """Return the arguments with objects of the classes that a signature names, which `class_of` knows by name.

    Raises SignatureError where one cannot be made.
    """

    def instance(structure: Any) -> Any:
        if not isinstance(structure, OfClass):
            return structure
        kind = class_of(structure.name)
        if not array_fields(kind):
            raise SignatureError(
                f"'{structure.name}' is no named tuple and no dataclass that JAX flattens and that the rule's module, "
                "its code or its annotations name."
            )
        assert kind is not None
        try:
            return kind(**{name: whole(part) for name, part in structure.fields.items()}, **dict(structure.values))
        except (TypeError, ValueError) as error:
            raise SignatureError(f"{structure.name} cannot hold texts in place of its arrays: {error}") from None

    def whole(structure: Any) -> Any:
        return jax.tree_util.tree_map(instance, structure, is_leaf=lambda x: isinstance(x, OfClass))

    return tuple(map(whole, inputs))


def field_names(kind: Any) -> list[str]:
    """Return the fields of a named tuple or a dataclass, in order; none of any other class."""
    if not has_fields(kind):
        return []
    return [f.name for f in fields(kind) if f.init] if is_dataclass(kind) else [*kind._fields]


@lru_cache(maxsize=256)
def array_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a named tuple or a dataclass in which JAX looks for arrays, in its order; none where JAX does not
    flatten the class, or its fields alone do not make an object.
    """
    values = {name: object() for name in field_names(kind)}
    try:
        leaves = jax.tree_util.tree_leaves(kind(**values)) if values else []
    except Exception:  # its constructor is a user's, and meant for arrays
        return ()
    return tuple(name for leaf in leaves for name, value in values.items() if value is leaf)


def structure_text(structure: Any) -> str | None:
    """Return a structure of texts as one text; None where it is of a class that no text names."""
    if structure is None or type(structure) is str:
        return "None" if structure is None else structure
    kind: Any = type(structure)
    names = array_fields(kind)
    if names or kind is dict:
        items = {n: getattr(structure, n) for n in names} if names else structure
        inner = {k: structure_text(v) for k, v in items.items()}
        if all(isinstance(k, str) and v is not None for k, v in inner.items()):
            values = ((n, repr(getattr(structure, n))) for n in field_names(kind) if n not in names)
            shown = [f"{k}: {v}" for k, v in inner.items()] + [f"{n}={v}" for n, v in values if _LITERAL.fullmatch(v)]
            text = ", ".join(shown)
            return f"{kind.__name__}({text})" if names else f"{{{text}}}"
    if kind in (tuple, list):
        parts = [structure_text(x) for x in structure]
        if all(p is not None for p in parts):
            text = ", ".join(p for p in parts if p is not None)
            return f"({text})" if kind is tuple else f"[{text}]"
    return None


def named_arguments(names: Sequence[str], inputs: Sequence[Any]) -> tuple[Argument, ...]:
    """Return the arguments, each array under a name of its own: `params_w` for the entry `w` of `params`."""
    out = []
    for name, structure in zip(names, inputs, strict=True):
        found, tree = named_leaves(name, structure), jax.tree_util.tree_structure(structure)
        wrong = next((x for _, x in found if not isinstance(x, str)), None)
        if wrong is not None:
            raise SignatureError(
                f'The shapes of an array are written as text, such as "n d", but {name} has {wrong!r}.'
            )
        specs = [parse(f"{text} -> ", pairs=True).inputs[0] for _, text in found]
        parts = [part for (leaf, _), spec in zip(found, specs, strict=True) for part in _named_real_parts(leaf, spec)]
        pairs = tuple(spec.dtype == "complex" for spec in specs)
        out.append(Argument(name, tuple(n for n, _ in parts), tuple(s for _, s in parts), tree, pairs))
    taken = [leaf for a in out for leaf in a.leaves]
    twice = next((x for x in taken if taken.count(x) > 1), None)
    if twice is not None:
        raise SignatureError(f"Two arrays of the arguments would be called '{twice}'; rename an argument or a key.")
    return tuple(out)


def named_leaves(name: str, structure: Any) -> list[tuple[str, Any]]:
    """Return the leaves of an argument, in JAX's order, with names such as `params_w`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(structure)
    return [("_".join([name, *(_key(k) for k in path)]), leaf) for path, leaf in paths]


def flat_signature(arguments: Sequence[Argument], outputs: tuple[ArraySpec, ...] | None) -> Signature:
    """Return the signature of the arrays, in order."""
    return Signature(tuple(s for a in arguments for s in a.specs), outputs or ())


def _named_real_parts(name: str, spec: ArraySpec) -> Iterator[tuple[str, ArraySpec]]:
    """Yield the arrays of real numbers that an array is."""
    if spec.dtype != "complex":
        yield name, spec
        return
    part = replace(spec, dtype="float", exact=PARTS.get(spec.exact, ""))
    yield from ((f"{name}_re", part), (f"{name}_im", part))


def real_parts(arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays with complex ones as real and imaginary parts."""
    return [part for x in arrays for part in ((lax.real(x), lax.imag(x)) if jnp.iscomplexobj(x) else (x,))]


def is_whole(value: Any) -> bool:
    """Return whether it is an array of integers or booleans."""
    kind = jnp.result_type(value)
    return bool(jnp.issubdtype(kind, jnp.integer) or jnp.issubdtype(kind, jnp.bool_))


def _key(key: Any) -> str:
    text = next((str(getattr(key, k)) for k in ("key", "idx", "name") if hasattr(key, k)), str(key))
    return re.sub(r"\W", "_", text)


def _side(text: str, whole: str) -> list[Any]:
    return [nested(part, _leaf, whole) for part in split_at_commas(text, whole)]


def _leaf(text: str) -> str:
    parse(f"{text} -> ", pairs=True)
    return text
