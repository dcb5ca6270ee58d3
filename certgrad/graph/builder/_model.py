"""Models: a body over named parameters and inputs, which runs by JAX and by numpy from the same terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from certgrad.errors import UsageError
from certgrad.graph.builder._term import Sizes, Term, dims_of, sized
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.trace import TracedGraph, trace


class Model:
    """`Model(params, inputs, body)`: the body is a term, several terms, or a layer that is applied to the inputs.

    Called, it is a JAX function of the parameters, as a dict by name, and of the inputs; `evaluate` is the same with
    numpy alone; `trace` is its graph. Raises UsageError for a body that uses what is neither parameter nor input.
    """

    def __init__(
        self,
        params: Sequence[Term],
        inputs: Sequence[Term],
        body: Term | Sequence[Term] | Callable[..., Any],
        name: str = "model",
    ) -> None:
        self.params, self.inputs, self.__name__ = tuple(params), tuple(inputs), name
        self._check_variables()
        result = body(*self.inputs) if callable(body) else body
        self._single = isinstance(result, Term)
        self.outputs: tuple[Term, ...] = (result,) if isinstance(result, Term) else tuple(result)
        for k, output in enumerate(self.outputs):
            if not isinstance(output, Term):
                raise UsageError(f"Output {k} of {name} is {output!r}. A body is a term, or several.")
        self._terms = reachable(self.outputs)
        self._check_body()

    @property
    def specs(self) -> list[Any]:
        """Return the specs of the arguments, as `certgrad.graph.trace` takes them."""
        return [{v.name: _spec(v) for v in self.params}, *map(_spec, self.inputs)]

    def trace(self) -> TracedGraph:
        """Return the model's graph, for `certify` and `compile_graph`. A node's line is where its term was written."""
        return trace(self, *self.specs)

    def __call__(self, params: Mapping[str, Any], *inputs: Any) -> Any:
        """Return the outputs at JAX's arrays: a function to jit, differentiate or trace."""

        def run(term: Term, args: Sequence[Any], sizes: Sizes) -> Any:
            assert term.operation is not None
            with jaxpr.as_written_at(term.place):
                return term.operation.jax(*args, **sized(term.operation, term.statics, sizes))

        return self._run(self._given(params, inputs), run)

    def evaluate(self, params: Mapping[str, Any], *inputs: Any) -> Any:
        """Return the outputs by numpy alone, in float64."""

        def run(term: Term, args: Sequence[Any], sizes: Sizes) -> Any:
            assert term.operation is not None
            return term.operation.numpy(*args, **sized(term.operation, term.statics, sizes))

        given = {
            v: np.asarray(x, np.float64 if np.asarray(x).dtype.kind == "f" else None)
            for v, x in self._given(params, inputs).items()
        }
        return self._run(given, run)

    def _run(self, values: dict[Term, Any], run: Callable[[Term, Sequence[Any], Sizes], Any]) -> Any:
        """Return the outputs from the variables' values; `run` computes one term, by JAX or by numpy."""
        sizes = self._sizes(values)
        for term in self._terms:
            if term.operation is not None:
                args = [values[a] if isinstance(a, Term) else a for a in term.args]
                values[term] = run(term, args, sizes)
            elif term.value is not None:
                values[term] = term.value
        out = tuple(values[o] for o in self.outputs)
        return out[0] if self._single else out

    def _given(self, params: Mapping[str, Any], inputs: Sequence[Any]) -> dict[Term, Any]:
        """Return the array for each variable. Raises UsageError where parameters or inputs are not the model's."""
        names = [v.name for v in self.params]
        if not isinstance(params, Mapping) or set(params) != set(names):
            names_given = ", ".join(map(str, params)) if isinstance(params, Mapping) else type(params).__name__
            raise UsageError(
                f"{self.__name__} has the parameters {', '.join(names) or 'none'}, and was given {names_given}."
            )
        if len(inputs) != len(self.inputs):
            input_names = ", ".join(v.name for v in self.inputs) or "none"
            raise UsageError(f"{self.__name__} takes the inputs {input_names}, and was given {len(inputs)} arrays.")
        return {**{v: params[v.name] for v in self.params}, **dict(zip(self.inputs, inputs, strict=True))}

    def _sizes(self, values: Mapping[Term, Any]) -> Sizes:
        """Return the sizes that the arrays' shapes give. Raises UsageError where the shapes do not fit the specs."""
        sizes: dict[str, Any] = {}
        for v, x in values.items():
            dims = v.argument.spec.dims if v.argument else ()
            if len(np.shape(x)) != len(dims):
                raise UsageError(f"{v.name} has {len(np.shape(x))} axes, but its spec is '{_spec(v)}'.")
            for dim, size in zip(dims, np.shape(x), strict=True):
                if dim.name is not None:
                    sizes.setdefault(dim.name, size)
        for v, x in values.items():
            if all(isinstance(d, int) for d in np.shape(x)):
                expected = tuple(d.evaluate(sizes) for d in v.argument.spec.dims)  # type: ignore[union-attr]
                if np.shape(x) != expected and all(isinstance(d, int) for d in expected):
                    shown = ", ".join(f"{k} = {n}" for k, n in sizes.items())
                    raise UsageError(
                        f"{v.name} has shape {np.shape(x)}, but its spec '{_spec(v)}' with {shown} gives {expected}."
                    )
        return sizes

    def _check_variables(self) -> None:
        """Raise UsageError where a parameter or input is no variable, or two have one name."""
        seen: set[str] = set()
        for v in (*self.params, *self.inputs):
            if not isinstance(v, Term) or v.argument is None:
                raise UsageError(f"{v!r} is no variable. Parameters and inputs are made by variable('W: h d').")
            if v.name in seen:
                raise UsageError(f"Two variables of {self.__name__} are named '{v.name}'. Name each once.")
            seen.add(v.name)

    def _check_body(self) -> None:
        """Raise UsageError where the body uses another variable, or a dimension that no variable has."""
        variables = {*self.params, *self.inputs}
        dims = {d for v in variables for d in dims_of(v)}
        for term in self._terms:
            if term.argument is not None and term not in variables:
                raise UsageError(
                    f"The body of {self.__name__} uses {_spec(term)}, which is neither among its parameters nor its "
                    "inputs."
                )
            for d in dims_of(term):
                if d not in dims:
                    raise UsageError(
                        f"{term!r} has the dimension {d}, which no parameter or input of {self.__name__} has."
                    )

    def __str__(self) -> str:
        """Return a line for each value that has a name, is used more than once or is long, and one for the result."""
        lines = [f"{self.__name__}({'; '.join(', '.join(map(_spec, vs)) for vs in (self.params, self.inputs) if vs)})"]
        uses = Counter([*self.outputs, *(a for term in self._terms for a in term.args if isinstance(a, Term))])
        texts: dict[Term, str] = {}
        for term in self._terms:
            text = _term_text(term, texts)
            long = len(text) > _LENGTH and term not in self.outputs
            if term.operation is not None and (term.name or uses[term] > 1 or long):
                name = term.name or f"v{len(lines)}"
                lines.append(f"  {name} = {text}")
                text = name
            texts[term] = text
        return "\n".join([*lines, f"  return {', '.join(texts[o] for o in self.outputs)}"])


_LENGTH = 70


def _spec(variable: Term) -> str:
    assert variable.argument is not None
    return f"{variable.name}: {variable.argument.spec}".rstrip()


_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "matmul": "@",
    "pow": "**",
    "gt": ">",
    "ge": ">=",
    "lt": "<",
    "le": "<=",
}


def _term_text(term: Term, texts: Mapping[Term, str]) -> str:
    """Return a term as text, with the texts of its arguments."""
    if term.operation is None:
        return term.name or "constant"
    args = [texts[a] if isinstance(a, Term) else str(a) for a in term.args]
    if term.operation.name == "let":
        return args[0]
    if term.operation.name in _SYMBOLS and len(args) == 2:
        return f"({args[0]} {_SYMBOLS[term.operation.name]} {args[1]})"
    statics = [f"{k}={v!r}" for k, v in term.statics.items()]
    return f"{term.operation.name}({', '.join([*args, *statics])})"


def reachable(outputs: Sequence[Term]) -> list[Term]:
    """Return all terms that the outputs are computed from, with the outputs, in the order they were written."""
    terms: dict[Term, None] = {}
    todo = list(outputs)
    while todo:
        term = todo.pop()
        if term not in terms:
            terms[term] = None
            todo += [a for a in term.args if isinstance(a, Term)]
    return sorted(terms, key=lambda t: t.serial)
