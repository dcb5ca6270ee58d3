"""The parameters of a rule's function: those with names, and what `*args` and `**kwargs` take beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from certgrad.errors import UsageError

from .layers import bound_by, parameters_of, seen_by_jax

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """The parameters of a function that calls can give, after what its partials have bound.

    Raises:
        UsageError: the parameters cannot be read.
    """

    def __init__(self, function: Callable, custom: Any, plain: Callable, shown: str) -> None:
        """Read which arguments a function takes, and which are bound by partials or `nondiff_argnums`.

        Args:
            function: the rule's object, with its wrappers.
            custom: the custom function inside.
            plain: the Python function under it.
            shown: what messages call the function.

        Raises:
            UsageError: the parameters cannot be read.
        """
        self._shown = shown
        try:
            parameters = parameters_of(custom, plain)
        except (TypeError, ValueError):
            raise UsageError(f"The arguments of {shown} cannot be read from its definition.") from None
        self.all = {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        """The parameters with names, which are all but `*args` and `**kwargs`."""
        self.rest = next((n for n, p in parameters.items() if p.kind == p.VAR_POSITIONAL), "")
        """The name of `*args`; "" if there is none."""
        self.keywords = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
        """Whether the function takes `**kwargs`."""
        count, self._named = bound_by(function)
        bound_names = {*list(self.all)[:count], *self._named}
        # Positional arguments of the partials go to named parameters first; those that are left over bind `*args`.
        # Numbers in `nondiff_argnums` beyond the positional parameters are of arguments in `*args`.
        places = [n for n, p in self.all.items() if p.kind in POSITIONAL]
        bound = max(0, count - len(self.all))
        as_they_are = [k - len(places) for k in _numbers(custom) if k >= len(places)] if self.rest else []
        self.bound = bound - sum(k < bound for k in as_they_are)
        """How many of `*args` the partials bind, without those that the custom function takes as they are."""
        self.fixed_places = frozenset(k - bound for k in as_they_are if k >= bound)
        """The numbers of further arguments in `*args` that are in the custom function's `nondiff_argnums`."""
        self.free = {n: p for n, p in self.all.items() if n not in bound_names}
        """The named parameters that no partial binds."""
        self.seen = seen_by_jax(custom, plain)
        """The parameters that JAX's custom function sees; in a call it fills in their defaults."""
        self.fixed = nondifferentiable(custom, list(self.all))
        """The parameters that the custom function takes as they are, and does not differentiate."""

    @property
    def positional(self) -> list[str]:
        """The free parameters that can be given by position, in order: up to one that a partial binds by name."""
        end = next((k for k, n in enumerate(self.all) if n in self._named), len(self.all))
        before = list(self.all)[:end]
        return [n for n, p in self.free.items() if p.kind in POSITIONAL and n in before]

    @property
    def reaches_rest(self) -> bool:
        """Whether every parameter before `*args` can be given by position: no partial binds one of them by name."""
        return not any(p.kind in POSITIONAL and n in self._named for n, p in self.all.items())

    def places_in_rest(self, arrays: int, given: set[int]) -> list[str]:
        """Return the names of the arguments in `*args`, in order: arrays, and between them static arguments.

        For `*xs` the names are `xs_0`, `xs_1`, …

        Args:
            arrays: how many of the arguments in `*args` are arrays.
            given: the numbers of the arguments in `*args` that have a static value.

        Raises:
            UsageError: an argument in `nondiff_argnums` has no value, or one has a value and those before it have none.
        """
        if lacks := sorted(self.fixed_places - given):
            raise UsageError(
                f"{self._shown} takes '{self.rest}_{lacks[0]}', one of *{self.rest}, as it is (nondiff_argnums): "
                "give it by `static`."
            )
        places: list[str] = []
        while arrays or len(places) in given:
            arrays -= len(places) not in given
            places.append(f"{self.rest}_{len(places)}")
        if beyond := sorted(k for k in given if k >= len(places)):
            raise UsageError(
                f"{self._shown} gets '{self.rest}_{beyond[0]}', and none of *{self.rest} at the places before it."
            )
        return places


def nondifferentiable(custom: Any, names: Sequence[str]) -> list[str]:
    """Return the names of the arguments in a custom function's `nondiff_argnums` and `nondiff_argnames`."""
    by_name = getattr(custom, "nondiff_argnames", ()) or ()
    by_number = [names[k] for k in _numbers(custom) if k < len(names)]
    return list(dict.fromkeys([*by_number, *((by_name,) if isinstance(by_name, str) else by_name)]))


def _numbers(custom: Any) -> list[int]:
    numbers = getattr(custom, "nondiff_argnums", ()) or ()
    return [k for k in (numbers if isinstance(numbers, (tuple, list)) else (numbers,)) if isinstance(k, int)]
