"""The arguments of a loss as named arrays: by the names that its specs give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from certgrad.errors import UsageError
from certgrad.graph.tracing.spec import Specs
from certgrad.training._unstated import Nesting


@dataclass(frozen=True)
class Arguments:
    """The arrays of a loss's arguments by name: `params['W1']` is an array of the argument `params`."""

    specs: Specs
    groups: Mapping[str, range]
    """For each argument, the positions of its leaves among those of all arguments."""
    leaves: Sequence[str | None]
    """The name of each leaf; None for a static leaf, which is no array."""

    @cached_property
    def names(self) -> dict[str, None]:
        """The names of the arrays, in order: the keys of a dictionary without values."""
        return {n: None for n in self.leaves if n is not None}

    def spec(self, name: str) -> str:
        """Return the shape of an array as its spec writes it: `n d`."""
        return str(next(a.spec for a in self.specs.arguments if a.name == name))

    def is_real(self, name: str) -> bool:
        return next(a.spec.dtype for a in self.specs.arguments if a.name == name) == "float"

    def chosen(self, names: Sequence[str], what: str) -> list[str]:
        """Return the names of the arrays that `names` stand for: an array, or all real arrays of an argument.

        Raises UsageError for an unknown name, which the message calls a `what`.
        """
        out: list[str] = []
        for name in names:
            if name in self.names:
                out.append(name)
            elif name in self.groups:
                out += [n for k in self.groups[name] if (n := self.leaves[k]) is not None and self.is_real(n)]
            else:
                raise UsageError(f"There is no {what} '{name}'. {self._available()}")
        return list(dict.fromkeys(out))

    def nesting(self, names: Sequence[str]) -> Nesting:
        """Return how these arrays are nested in the argument that consists of them; if there is none, a dictionary."""
        for group, places in self.groups.items():
            names_of_group = [self.leaves[k] for k in places]
            if group not in self.names and list(names) == names_of_group:
                return _nesting(self.specs.tree[list(self.groups).index(group)], names)
        return Nesting()

    def named(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arrays in these values of arguments, by name.

        A value is an array by its own name, or all of an argument, nested as its spec.

        Raises UsageError for an unknown name, or an argument that is nested otherwise.
        """
        out: dict[str, Any] = {}
        for name, value in values.items():
            if name in self.names:
                out[name] = value
                continue
            if name not in self.groups:
                raise UsageError(f"There is no argument '{name}'. {self._available()}")
            leaves, tree = jax.tree.flatten(value)
            places, spec_tree = self.groups[name], self.specs.tree[list(self.groups).index(name)]
            if tree != spec_tree:
                raise UsageError(
                    f"{name} is nested as {tree}, and its spec as {spec_tree}. Pass it nested as its spec is."
                )
            out |= {n: x for k, x in zip(places, leaves, strict=True) if (n := self.leaves[k]) is not None}
        return out

    def _available(self) -> str:
        groups = [g for g in self.groups if g not in self.names]
        arrays = f"The arrays are {', '.join(self.names)}"
        return arrays + (f"; the arguments that hold several are {', '.join(groups)}." if groups else ".")


def _nesting(tree: Any, names: Sequence[str]) -> Nesting:
    return Nesting(
        nest=lambda found: jax.tree.unflatten(tree, [found[n] for n in names]),
        flat=lambda nested: dict(zip(names, jax.tree.leaves(nested), strict=True)),
    )


def arguments_of(specs: Specs, parameters: Sequence[str]) -> Arguments:
    """Return the arguments of a function with these parameters, traced at these specs."""
    names = iter(a.name for a in specs.arguments)
    leaves: list[str | None] = []
    groups: dict[str, range] = {}
    for k, tree in enumerate(specs.tree):
        first = len(leaves)
        leaves += [None if first + j in specs.static else next(names) for j in range(tree.num_leaves)]
        groups[parameters[k] if k < len(parameters) else f"x{k}"] = range(first, len(leaves))
    return Arguments(specs, groups, leaves)
