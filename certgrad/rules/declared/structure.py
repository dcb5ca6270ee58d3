"""Signatures of functions of nested arguments: `"{w: d m, b: m}, (n d, n:int) -> n m"`.

An argument that is a dict, tuple, list or `None` is written as such a container of shapes. An object of a named tuple
or of a dataclass that JAX can flatten is written as `Params(w: d m, b: m, bias=True)`, if the rule's module, its code
or its annotations name the class. For other classes that JAX can flatten, the signature is a tuple of objects with
texts in the place of arrays: `(Params(w="d m", b="m"), "n d")`.

An array of complex numbers counts as two of real numbers, its real and imaginary parts: `n:complex` for z is `z_re`,
`z_im`.
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
"""Values of fields that a signature can write: numbers, words and short texts."""
jax.tree_util.register_dataclass(OfClass, ["fields"], ["name", "values"])


@dataclass(frozen=True)
class Argument:
    """An argument of a function: the names and shapes of its arrays of real numbers (`leaves`), and its structure."""

    name: str
    leaves: tuple[str, ...]
    specs: tuple[ArraySpec, ...]
    tree: Any
    pairs: tuple[bool, ...]
    """For each array of the argument, whether it is complex, so that it is two of the `leaves`."""

    def cotangents(self, returned: Any) -> list[Any]:
        """Return for each of the `leaves` the part of a returned cotangent at its array.

        If the cotangent has another structure than the argument, all parts are None.
        """
        try:
            parts = self.tree.flatten_up_to(returned)
        except (ValueError, TypeError):
            return [None] * len(self.leaves)
        return [part for part, pair in zip(parts, self.pairs, strict=True) for _ in range(1 + pair)]

    def made_of(self, parts: Sequence[Any], joined: Callable[[Any, Any], Any] = lax.complex) -> Any:
        """Return the argument with `parts` in place of its `leaves`; `joined` makes a complex array of two parts."""
        rest = iter(parts)
        return jax.tree_util.tree_unflatten(
            self.tree, [joined(next(rest), next(rest)) if pair else next(rest) for pair in self.pairs]
        )


@dataclass(frozen=True)
class Declared:
    """The structures of the arguments that hold arrays, without names, and the outputs' shapes; None if not stated."""

    inputs: tuple[Any, ...]
    outputs: tuple[ArraySpec, ...] | None


def parse_structure(signature: str | Sequence[Any]) -> Declared:
    """Return the structures of arguments and the shapes of outputs in a signature.

    A signature that is a tuple of objects states no outputs. Raises SignatureError if a text does not parse.
    """
    if not isinstance(signature, str):
        return Declared(tuple(signature), None)
    left, arrow, right = signature.partition("->")
    if "->" in right:
        parse(signature, pairs=True)  # raises, and says what is wrong
    inputs = tuple(_side(left, signature))
    outputs = tuple(jax.tree_util.tree_leaves(list(_side(right, signature)))) if arrow else None
    shown = ", ".join(jax.tree_util.tree_leaves(list(inputs)))
    flat = parse(f"{shown} -> {', '.join(outputs or ())}" if shown or outputs else " -> ", pairs=True)
    stated = tuple(part for spec in flat.outputs for _, part in _named_real_parts("", spec))
    return Declared(inputs, None if outputs is None else stated if outputs else ())


def with_objects(inputs: Sequence[Any], class_of: Callable[[str], type | None]) -> tuple[Any, ...]:
    """Return the structures of arguments with objects in the place of `Params(w: d m)`, of the class `Params`.

    `class_of` returns the class of a name. Raises SignatureError if there is none, or it cannot hold texts.
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
    """Return the fields of a named tuple or a dataclass, in order; none for any other class."""
    if not has_fields(kind):
        return []
    return [f.name for f in fields(kind) if f.init] if is_dataclass(kind) else [*kind._fields]


@lru_cache(maxsize=256)
def array_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a named tuple or a dataclass in which JAX looks for arrays, in JAX's order.

    None are returned if JAX does not flatten the class, or if its fields alone do not make an object. To find them, an
    object is made with a marker in each field, and flattened.
    """
    values = {name: object() for name in field_names(kind)}
    try:
        leaves = jax.tree_util.tree_leaves(kind(**values)) if values else []
    except Exception:  # its constructor is a user's, and meant for arrays
        return ()
    return tuple(name for leaf in leaves for name, value in values.items() if value is leaf)


def structure_text(structure: Any) -> str | None:
    """Return a structure of texts as a signature writes it; None if it has an object of a class that no text names."""
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
    """Return the arguments with a name for each array: `params_w` for the entry `w` of `params`.

    Raises SignatureError if an array has no text for its shape, or if two arrays would have the same name.
    """
    out = []
    for name, structure in zip(names, inputs, strict=True):
        leaves, tree = named_leaves(name, structure), jax.tree_util.tree_structure(structure)
        wrong = next((x for _, x in leaves if not isinstance(x, str)), None)
        if wrong is not None:
            raise SignatureError(
                f'The shapes of an array are written as text, such as "n d", but {name} has {wrong!r}.'
            )
        specs = [parse(f"{text} -> ", pairs=True).inputs[0] for _, text in leaves]
        parts = [part for (leaf, _), spec in zip(leaves, specs, strict=True) for part in _named_real_parts(leaf, spec)]
        pairs = tuple(spec.dtype == "complex" for spec in specs)
        out.append(Argument(name, tuple(n for n, _ in parts), tuple(s for _, s in parts), tree, pairs))
    all_leaves = [leaf for a in out for leaf in a.leaves]
    twice = next((x for x in all_leaves if all_leaves.count(x) > 1), None)
    if twice is not None:
        raise SignatureError(f"Two arrays of the arguments would be called '{twice}'; rename an argument or a key.")
    return tuple(out)


def named_leaves(name: str, structure: Any) -> list[tuple[str, Any]]:
    """Return the leaves of an argument, in JAX's order, with names such as `params_w`."""
    paths, _ = jax.tree_util.tree_flatten_with_path(structure)
    return [("_".join([name, *(_key(k) for k in path)]), leaf) for path, leaf in paths]


def flat_signature(arguments: Sequence[Argument], outputs: tuple[ArraySpec, ...] | None) -> Signature:
    """Return the signature of all arrays of the arguments, in order, and of the outputs."""
    return Signature(tuple(s for a in arguments for s in a.specs), outputs or ())


def _named_real_parts(name: str, spec: ArraySpec) -> Iterator[tuple[str, ArraySpec]]:
    """Yield the name and shape of each array of real numbers that an array is: itself, or its two parts if complex."""
    if spec.dtype != "complex":
        yield name, spec
        return
    part = replace(spec, dtype="float", exact=PARTS.get(spec.exact, ""))
    yield from ((f"{name}_re", part), (f"{name}_im", part))


def real_parts(arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays, with the real and the imaginary part in the place of each complex one."""
    return [part for x in arrays for part in ((lax.real(x), lax.imag(x)) if jnp.iscomplexobj(x) else (x,))]


def is_whole(value: Any) -> bool:
    """Return whether a value is an array of integers or booleans."""
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
