"""Signatures of functions of nested arguments: `"{w: d m, b: m}, (n d, n:int) -> n m"`.

Where an argument is a dict, tuple, list or `None`, its shapes are written as one; for other classes that JAX can
flatten, the arguments are given as a tuple of such objects with texts for arrays: `(Params(w="d m", b="m"), "n d")`.

An array of complex numbers is two of real ones, the real and the imaginary parts: `n:complex` for z is `z_re`, `z_im`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from certgrad.errors import SignatureError
from certgrad.signatures.nested import nested, split
from certgrad.signatures.signature import PARTS, ArraySpec, Signature, parse


@dataclass(frozen=True)
class Argument:
    """An argument: its arrays of real numbers by name, and how they are put together."""

    name: str
    leaves: tuple[str, ...]
    specs: tuple[ArraySpec, ...]
    tree: Any
    pairs: tuple[bool, ...]
    """Of each array of the argument, whether it is complex, and so two of the `leaves`."""

    def made_of(self, parts: Sequence[Any], joined: Callable[[Any, Any], Any] = lax.complex) -> Any:
        """The argument, of what stands for each of the `leaves`."""
        rest = iter(parts)
        return jax.tree_util.tree_unflatten(
            self.tree, [joined(next(rest), next(rest)) if pair else next(rest) for pair in self.pairs]
        )


@dataclass(frozen=True)
class Declared:
    """The arguments that hold arrays, not yet named, and the outputs' shapes, if they are stated."""

    inputs: tuple[Any, ...]
    outputs: tuple[ArraySpec, ...] | None


def read(signature: str | Sequence[Any]) -> Declared:
    """The structure of a signature. Raises SignatureError where it does not parse."""
    if not isinstance(signature, str):
        return Declared(tuple(signature), None)
    left, arrow, right = signature.partition("->")
    if "->" in right:
        parse(signature, pairs=True)  # says what is wrong
    inputs = tuple(_side(left, signature))
    outputs = tuple(jax.tree_util.tree_leaves(list(_side(right, signature)))) if arrow else None
    shown = ", ".join(jax.tree_util.tree_leaves(list(inputs)))
    flat = parse(f"{shown} -> {', '.join(outputs or ())}" if shown or outputs else " -> ", pairs=True)
    stated = tuple(part for spec in flat.outputs for _, part in _parts("", spec))
    return Declared(inputs, None if outputs is None else stated if outputs else ())


def named(names: Sequence[str], inputs: Sequence[Any]) -> tuple[Argument, ...]:
    """The arguments, each array under a name of its own: `params_w` for the entry `w` of `params`."""
    out = []
    for name, structure in zip(names, inputs, strict=True):
        paths, tree = jax.tree_util.tree_flatten_with_path(structure)
        leaves = tuple("_".join([name, *(_key(k) for k in path)]) for path, _ in paths)
        wrong = next((x for _, x in paths if not isinstance(x, str)), None)
        if wrong is not None:
            raise SignatureError(
                f'The shapes of an array are written as text, such as "n d", but {name} has {wrong!r}.'
            )
        specs = [parse(f"{text} -> ", pairs=True).inputs[0] for _, text in paths]
        parts = [part for leaf, spec in zip(leaves, specs, strict=True) for part in _parts(leaf, spec)]
        pairs = tuple(spec.dtype == "complex" for spec in specs)
        out.append(Argument(name, tuple(n for n, _ in parts), tuple(s for _, s in parts), tree, pairs))
    taken = [leaf for a in out for leaf in a.leaves]
    twice = next((x for x in taken if taken.count(x) > 1), None)
    if twice is not None:
        raise SignatureError(f"Two arrays of the arguments would be called '{twice}'; rename an argument or a key.")
    return tuple(out)


def flat_signature(arguments: Sequence[Argument], outputs: tuple[ArraySpec, ...] | None) -> Signature:
    """The signature of the arrays, in order."""
    return Signature(tuple(s for a in arguments for s in a.specs), outputs or ())


def _parts(name: str, spec: ArraySpec) -> Iterator[tuple[str, ArraySpec]]:
    """The arrays of real numbers that an array is."""
    if spec.dtype != "complex":
        yield name, spec
        return
    part = replace(spec, dtype="float", exact=PARTS.get(spec.exact, ""))
    yield from ((f"{name}_re", part), (f"{name}_im", part))


def real_parts(arrays: Sequence[Any]) -> list[Any]:
    """Of complex arrays the real and the imaginary parts, in place; others as they are."""
    return [part for x in arrays for part in ((lax.real(x), lax.imag(x)) if jnp.iscomplexobj(x) else (x,))]


def _key(key: Any) -> str:
    text = next((str(getattr(key, k)) for k in ("key", "idx", "name") if hasattr(key, k)), str(key))
    return re.sub(r"\W", "_", text)


def _side(text: str, whole: str) -> list[Any]:
    return [nested(part, _leaf, whole) for part in split(text, whole)]


def _leaf(text: str) -> str:
    parse(f"{text} -> ", pairs=True)
    return text
