"""Compiled execution of certified graphs: forward, vjp and value_and_grad, jitted, on whatever device JAX has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.accel._sweep import Sweep
from certgrad.errors import CertgradError, UsageError
from certgrad.graph._certify import Certification, certification
from certgrad.graph._numbers import Numbers, OwnNumbers
from certgrad.graph._trace import TracedGraph
from certgrad.graph.certificate import GraphCertificate
from certgrad.graph.ir import Ref
from certgrad.obligations.certificate import PROOFS
from certgrad.obligations.tracing.jax_internals import kind_of


class NotCertifiedError(CertgradError):
    """A graph that is not proved is not compiled."""


class CompiledGraph:
    """A certified graph as jitted functions of the same arguments as the function that it was traced from.

    Every node is evaluated, and swept, by the programs of the lemma that its certificate step names.
    """

    def __init__(self, certified: Certification) -> None:
        self.certified = certified
        self._same: dict[Any, bool] = {}
        """Dtypes of floats, and whether the function traces to the graph's own program in them."""
        self._jitted = {name: jax.jit(fn) for name, fn in self._programs().items()}

    def _programs(self) -> dict[str, Callable[..., Any]]:
        return {"forward": self._forward, "vjp": self._vjp, "value_and_grad": self._value_and_grad}

    def forward(self, *args: Any) -> Any:
        """What the function returns."""
        return self._jitted["forward"](self.certified.traced.specs.flat(args))

    def vjp(self, args: Sequence[Any], seeds: Any) -> Any:
        """(outputs, cotangents), with one seed an output and one cotangent a real argument."""
        return self._jitted["vjp"](self.certified.traced.specs.flat(args), seeds)

    def value_and_grad(self, *args: Any) -> Any:
        """The loss, and its gradient with respect to each real argument."""
        return self._jitted["value_and_grad"](self.certified.traced.specs.flat(args))

    @property
    def certificate(self) -> GraphCertificate:
        return self.certified.certificate

    def sweep(self, *args: Any) -> tuple[Sweep, list[Any]]:
        """The graph at the dimensions of these arguments, and the arguments as flat arrays.

        Raises UsageError, naming argument and axis, where their shapes or dtypes are not those of the specs.
        """
        return self._sweep(self.certified.traced.specs.flat(args))

    def _sweep(self, arrays: Sequence[Any]) -> tuple[Sweep, list[Any]]:
        specs = self.certified.traced.specs
        leaves = [x if hasattr(x, "dtype") else jnp.asarray(x) for x in arrays]
        sizes = specs.sizes([x.shape for x in leaves])
        for x, a in zip(leaves, specs.arguments, strict=True):
            if a.spec.dtype == "float" and not jnp.issubdtype(x.dtype, jnp.floating):
                raise UsageError(f"{a.name} is {x.dtype}, but its spec is of real numbers. Pass an array of floats.")
        leaves = [x if kind_of(x.dtype) == "k" else jnp.asarray(x) for x in leaves]
        numbers = self._numbers(leaves)
        return Sweep(self.certified.induction, sizes, numbers), [
            x.astype(wanted) if (wanted := numbers.dtype(dtype)) != x.dtype and kind_of(dtype) in "fi" else x
            for x, dtype in zip(leaves, specs.dtypes, strict=True)
        ]

    def _numbers(self, leaves: Sequence[Any]) -> Numbers:
        """The dtypes to run in: those that the graph was traced in, or another one in which it is the same program."""
        traced = self.certified.traced
        expected = traced.specs.dtypes
        floats = [(x.dtype, dtype) for x, dtype in zip(leaves, expected, strict=True) if kind_of(dtype) == "f"]
        available = bool(jax.config.read("jax_enable_x64")) or not traced.specs.wide
        if available and all(given == dtype for given, dtype in floats):
            return OwnNumbers(jnp.result_type(float), jnp.result_type(int))
        real = jnp.result_type(*(given for given, _ in floats)) if floats else jnp.result_type(float)
        if real not in self._same:
            self._same[real] = traced.is_same_in(real, bool(jax.config.read("jax_enable_x64")))
        if not self._same[real]:
            names = " and ".join(sorted({str(dtype) for _, dtype in floats})) or "64 bits"
            raise UsageError(
                f"{traced.ir.name} was traced in {names}, and in {real} it is another program. Trace it again at "
                f"arrays of {real}, or pass arrays of {names}."
            )
        return Numbers(real, jnp.result_type(int))

    def _forward(self, arrays: Sequence[Any]) -> Any:
        sweep, leaves = self._sweep(arrays)
        return self._nested(sweep.outputs(sweep.forward(leaves)))

    def _vjp(self, arrays: Sequence[Any], seeds: Any) -> Any:
        sweep, leaves = self._sweep(arrays)
        values = sweep.forward(leaves)
        outputs = sweep.outputs(values)
        given = jax.tree.leaves(seeds)
        if len(given) != len(outputs) or any(jnp.shape(s) != y.shape for s, y in zip(given, outputs, strict=False)):
            raise UsageError("Pass one seed of the same shape for each output of the graph.")
        seeds = [jnp.asarray(s, y.dtype) for s, y in zip(given, outputs, strict=True)]
        return self._nested(outputs), self._gradients(sweep, leaves, sweep.backward(values, seeds))

    def _value_and_grad(self, arrays: Sequence[Any]) -> Any:
        if not self.certified.traced.ir.scalar_loss:
            raise UsageError(
                f"{self.certified.traced.ir.name} does not return one real number, so it has no gradient. Use vjp."
            )
        sweep, leaves = self._sweep(arrays)
        values = sweep.forward(leaves)
        (loss,) = sweep.outputs(values)
        return loss, self._gradients(sweep, leaves, sweep.backward(values, [jnp.ones((), loss.dtype)]))

    def _nested(self, outputs: Sequence[Any]) -> Any:
        return jax.tree.unflatten(self.certified.traced.program.out_tree, list(outputs))

    def _gradients(self, sweep: Sweep, leaves: Sequence[Any], cotangents: Any) -> tuple[Any, ...]:
        """One gradient for each argument, nested as it is; None where there is none (integers and booleans)."""
        flat: list[Any] = []
        for node, x in zip(self.certified.traced.ir.inputs, leaves, strict=True):
            moving = sweep.induction.is_moving(Ref(node=node.id))
            flat.append(cotangents.get((node.id, 0), jnp.zeros_like(x)) if moving else None)
        return tuple(self.certified.traced.specs.nest(flat, bare=True))


def compile_graph(graph: TracedGraph | Certification) -> CompiledGraph:
    """The graph as jitted functions. Raises NotCertifiedError, with the findings, for a graph that is not proved."""
    certified = graph if isinstance(graph, Certification) else certification(graph)
    if certified.certificate.verdict not in PROOFS:
        findings = "; ".join(certified.certificate.findings)
        raise NotCertifiedError(
            f"The graph of {certified.traced.ir.name} is {certified.certificate.verdict}, so it is not compiled: "
            f"{findings}. Mend the rules that are named, or run the function with JAX alone."
        )
    return CompiledGraph(certified)
