"""Compiled execution of certified graphs: forward, vjp and value_and_grad, jitted, on whatever device JAX has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel._guards import GuardError, GuardResults, Guards
from certgrad.accel._monitor import Monitor
from certgrad.accel._options import PLAIN, Options
from certgrad.accel._sweep import Cotangents, Sweep, Values
from certgrad.errors import CertgradError, UsageError
from certgrad.graph.certificate import GraphCertificate, Step
from certgrad.graph.certifying.certify import Certification, certification
from certgrad.graph.certifying.provenance import digest
from certgrad.graph.induction.induction import Induction
from certgrad.graph.ir import Ref
from certgrad.graph.points.run import Run
from certgrad.graph.tracing.cases import program_at
from certgrad.graph.tracing.numbers import Numbers, OwnNumbers
from certgrad.graph.tracing.trace import TracedGraph
from certgrad.graph.tracing.wellformed import line_of
from certgrad.obligations.certificate import PROOFS
from certgrad.obligations.tracing.jax_internals import kind_of


class NotCertifiedError(CertgradError):
    """A graph that is not proved is not compiled."""


class CompiledGraph:
    """A certified graph as jitted functions of the same arguments as the function that it was traced from.

    Every node is evaluated, and swept, by the programs of the lemma that its certificate step names.
    """

    def __init__(
        self,
        certified: Certification,
        checked: bool = False,
        monitor: bool = False,
        options: Options = PLAIN,
    ) -> None:
        self.certified, self.checked, self.options = certified, checked, options
        self.guards = Guards(certified, trace_back=checked) if checked or monitor else None
        self.monitor = Monitor(self.guards.names) if self.guards is not None and monitor else None
        self._same: dict[Any, bool] = {}
        """For each float dtype, whether the function traces to the graph's own program in it."""
        self._there: dict[tuple[Any, ...], CompiledGraph] = {}
        """The compiled graph that runs at each choice of sizes."""
        self._jitted = {name: options.jit(fn, donated=[0]) for name, fn in self._programs().items()}

    def _programs(self) -> dict[str, Callable[..., Any]]:
        return {"forward": self._forward, "vjp": self._vjp, "value_and_grad": self._value_and_grad}

    def forward(self, *args: Any) -> Any:
        """Return the outputs of the function."""
        return self._ran("forward", self.certified.traced.specs.flat(args))

    def vjp(self, args: Sequence[Any], seeds: Any) -> Any:
        """Return (outputs, cotangents), with one seed for each output and one cotangent for each real argument."""
        return self._ran("vjp", self.certified.traced.specs.flat(args), seeds)

    def value_and_grad(self, *args: Any) -> Any:
        """Return the loss, and its gradient with respect to each real argument."""
        return self._ran("value_and_grad", self.certified.traced.specs.flat(args))

    def _ran(self, program: str, *args: Any) -> Any:
        """Return the result of a jitted program, after its guards are heard."""
        result, guard_results = self._jitted[program](*self.options.placed(args))
        self.hear(guard_results)
        return result

    def hear(self, found: GuardResults | None) -> None:
        """Pass the guards' results of a run to the monitor, and raise GuardError where a hypothesis failed.

        Inside a transformation of JAX, this is a callback on the host at each run.
        """
        if found is None:
            return
        counts = [found.times, found.finite]  # all arrays without `checked`; a walk of the tree would slow each step
        if any(isinstance(x, jax.core.Tracer) for x in (jax.tree.leaves(found) if self.checked else counts)):
            jax.debug.callback(self._heard, found)
        else:
            self._heard(found)

    def _heard(self, found: GuardResults) -> None:
        guards = found.layout.guards
        if self.monitor is not None:
            self.monitor.add(guards.names, found.times, found.finite)
        if self.checked and (problem := guards.problem(jax.device_get(found))) is not None:
            raise GuardError(problem)

    @property
    def certificate(self) -> GraphCertificate:
        return self.certified.certificate

    def sweep(self, *args: Any) -> tuple[Sweep, list[Any]]:
        """Return the sweep at the sizes of these arguments, and the arguments as flat arrays.

        Raises UsageError and NotCertifiedError, as `at` does.
        """
        flat = self.certified.traced.specs.flat(args)
        return self._at(flat)._sweep(flat)

    def at(self, *args: Any) -> CompiledGraph:
        """Return the program for these arguments: this graph, or the function's other program at their sizes.

        Raises UsageError, naming argument and axis, where their shapes are not those of the specs, and
        NotCertifiedError where the other program is not proved.
        """
        return self._at(self.certified.traced.specs.flat(args))

    def _at(self, arrays: Sequence[Any]) -> CompiledGraph:
        return self.at_sizes(self.certified.traced.specs.sizes([np.shape(x) for x in arrays]))

    def at_sizes(self, sizes: Mapping[str, int]) -> CompiledGraph:
        """Return the program for these sizes of all dimensions, as `at` does for arguments."""
        key = tuple(sorted(sizes.items()))
        if key not in self._there:
            other = self._there[key] = self._of_sizes(sizes)
            other._there[key] = other
        return self._there[key]

    def _of_sizes(self, sizes: Mapping[str, int]) -> CompiledGraph:
        """Return this graph, or the function's other program at these sizes, certified and compiled."""
        traced = self.certified.traced
        if empty := [d for d, n in sizes.items() if n < 1]:
            raise UsageError(f"{empty[0]} is 0 in these arrays; {traced.ir.name} is certified where it is at least 1.")
        case = program_at(traced, sizes) if sizes and traced.fn is not None else None
        if case is None or case.graph is None:
            return self
        with jax.ensure_compile_time_eval():  # the sizes are known while JAX traces a program
            other = certification(case.graph, compare=False, shared=self.certified.induction.shared)
        _check_proved(other, f"Where {case} {traced.ir.name} is another program, and the graph of that one")
        return CompiledGraph(other, self.checked, self.monitor is not None, self.options)

    def _sweep(self, arrays: Sequence[Any]) -> tuple[Sweep, list[Any]]:
        """Return the sweep at the arrays' sizes, and the arrays in the dtypes of the run. Raises UsageError."""
        specs = self.certified.traced.specs
        leaves = [x if hasattr(x, "dtype") else jnp.asarray(x) for x in arrays]
        sizes = specs.sizes([x.shape for x in leaves])
        for x, a, dtype in zip(leaves, specs.arguments, specs.dtypes, strict=True):
            if problem := _unfit(x, dtype):
                raise UsageError(f"{a.name} is {x.dtype}, but its spec is of {problem}")
            if _is_explicit(x):
                raise UsageError(
                    f"{a.name} is on a mesh whose axes are explicit, for which every program would say how each result "
                    "is placed. Make the mesh with axis_types=(jax.sharding.AxisType.Auto, …): XLA then places them."
                )
        leaves = [x if kind_of(x.dtype) == "k" else jnp.asarray(x) for x in leaves]
        numbers = self._numbers(leaves)
        return Sweep(self.certified.induction, sizes, numbers, self.options.remat), [
            x.astype(wanted) if (wanted := numbers.dtype(dtype)) != x.dtype and kind_of(dtype) in "fi" else x
            for x, dtype in zip(leaves, specs.dtypes, strict=True)
        ]

    def _numbers(self, leaves: Sequence[Any]) -> Numbers:
        """Return the dtypes to run in: the options', or the traced ones, or another in which the program is the same.

        Raises UsageError where the arrays have several dtypes, or one in which the function is another program.
        """
        traced, precision = self.certified.traced, self.options.precision
        expected = traced.specs.dtypes
        if self.options.dtype is not None:
            return Numbers(jnp.dtype(self.options.dtype), jnp.result_type(int), precision)
        floats = [(x.dtype, dtype) for x, dtype in zip(leaves, expected, strict=True) if kind_of(dtype) == "f"]
        # The dtype of the run is that of the arrays; Python's numbers, which are weakly typed, adapt to it.
        strong = {x.dtype for x, d in zip(leaves, expected, strict=True) if kind_of(d) == "f" and not _is_weak(x)}
        available = bool(jax.config.read("jax_enable_x64")) or not traced.specs.wide
        if available and all(actual == dtype for actual, dtype in floats):
            return OwnNumbers(jnp.result_type(float), jnp.result_type(int), precision)
        if len(strong) > 1:
            several = " and ".join(sorted(map(str, strong)))
            raise UsageError(
                f"{traced.ir.name} is given arrays of {several}, in which it may be another program. "
                "Trace it at arrays of these dtypes, or pass arrays of one."
            )
        real = jnp.result_type(*(strong or (actual for actual, _ in floats))) if floats else jnp.result_type(float)
        if real not in self._same:
            self._same[real] = traced.is_same_in(real, bool(jax.config.read("jax_enable_x64")))
        if not self._same[real]:
            names = " and ".join(sorted({str(dtype) for _, dtype in floats})) or "64 bits"
            raise UsageError(
                f"{traced.ir.name} was traced in {names}, and in {real} it is another program. Trace it again at "
                f"arrays of {real}, or pass arrays of {names}."
            )
        return Numbers(real, jnp.result_type(int), precision)

    def _forward(self, arrays: Sequence[Any]) -> Any:
        """Return the outputs and the guards' results: the program that is jitted."""
        compiled = self._at(arrays)
        sweep, leaves = compiled._sweep(arrays)
        values, run = compiled.reach(
            replace(sweep, remat=True), leaves
        )  # `remat`: no residuals, since no sweep follows
        outputs = sweep.outputs(values)
        return compiled._nested(outputs), compiled.look(sweep, run, outputs, (), {})

    def reach(self, sweep: Sweep, leaves: Sequence[Any]) -> tuple[Values, Run | None]:
        """Return the values of all nodes, and the run that kept the guards' values, or None without guards."""
        return (sweep.forward(leaves), None) if self.guards is None else self.guards.forward(sweep, leaves)

    def look(
        self, sweep: Sweep, run: Run | None, outputs: Any, gradients: Any, cotangents: Cotangents
    ) -> GuardResults | None:
        """Return the guards' results as a part of the program; None without guards."""
        return (
            None
            if self.guards is None or run is None
            else self.guards.results(sweep, run, outputs, gradients, cotangents)
        )

    def _vjp(self, arrays: Sequence[Any], seeds: Any) -> Any:
        """Return (outputs, cotangents) and the guards' results. Raises UsageError for seeds of other shapes."""
        compiled = self._at(arrays)
        sweep, leaves = compiled._sweep(arrays)
        values, run = compiled.reach(sweep, leaves)
        outputs = sweep.outputs(values)
        seed_leaves = jax.tree.leaves(seeds)
        if len(seed_leaves) != len(outputs) or any(
            jnp.shape(s) != y.shape for s, y in zip(seed_leaves, outputs, strict=False)
        ):
            raise UsageError("Pass one seed of the same shape for each output of the graph.")
        seeds = [jnp.asarray(s, y.dtype) for s, y in zip(seed_leaves, outputs, strict=True)]
        cotangents = sweep.backward(values, seeds)
        gradients = compiled._gradients(sweep, leaves, cotangents)
        return (compiled._nested(outputs), gradients), compiled.look(sweep, run, outputs, gradients, cotangents)

    def _value_and_grad(self, arrays: Sequence[Any]) -> Any:
        """Return (loss, gradients) and the guards' results. Raises UsageError where there is no scalar loss."""
        if not self.certified.traced.ir.scalar_loss:
            raise UsageError(
                f"{self.certified.traced.ir.name} does not return one real number, so it has no gradient. Use vjp."
            )
        compiled = self._at(arrays)
        sweep, leaves = compiled._sweep(arrays)
        values, run = compiled.reach(sweep, leaves)
        (loss,) = sweep.outputs(values)
        cotangents = sweep.backward(values, [jnp.ones((), loss.dtype)])
        gradients = compiled._gradients(sweep, leaves, cotangents)
        return (loss, gradients), compiled.look(sweep, run, loss, gradients, cotangents)

    def _nested(self, outputs: Sequence[Any]) -> Any:
        return jax.tree.unflatten(self.certified.traced.program.out_tree, list(outputs))

    def __str__(self) -> str:
        """Return the graph's name, its verdict and the options in force."""
        return f"{self.certified.traced.ir.name}, compiled\n{self.options.in_force(self.certified.traced.specs.dtypes)}"

    def _gradients(self, sweep: Sweep, leaves: Sequence[Any], cotangents: Any) -> tuple[Any, ...]:
        """Return a gradient for each argument, nested as it is; None where there is none (integers and booleans)."""
        flat: list[Any] = []
        for node, x in zip(self.certified.traced.ir.inputs, leaves, strict=True):
            moving = sweep.induction.is_moving(Ref(node=node.id))
            flat.append(cotangents.get((node.id, 0), jnp.zeros_like(x)) if moving else None)
        return tuple(self.certified.traced.specs.nest(flat, bare=True))


def compile_graph(
    graph: TracedGraph | Certification,
    *,
    checked: bool = False,
    monitor: bool = False,
    options: Options = PLAIN,
) -> CompiledGraph:
    """Return the graph as jitted functions.

    Args:
        graph: from `certgrad.trace`, or certified.
        checked: raise GuardError in a run where a hypothesis of the certificate fails, or a result is not finite, with
            the node, its line, the expression, the first index and the values there. Inside `jax.jit` or `jax.vmap` the
            error of JAX carries that text.
        monitor: count for each hypothesis how often it failed, call by call, in `CompiledGraph.monitor`.
        options: device, dtype, precision, determinism, and memory; `print` the compiled graph to see them.

    Raises:
        NotCertifiedError: the graph is not proved, with the findings; or the programs that run are not those that the
            steps of the certificate name.
    """
    certified = graph if isinstance(graph, Certification) else certification(graph)
    _check_proved(certified, f"The graph of {certified.traced.ir.name}")
    if (difference := _difference(certified)) is not None:
        raise NotCertifiedError(
            f"The program of {certified.traced.ir.name} is not the one that its certificate is about: {difference}. "
            "Certify the function again."
        )
    return CompiledGraph(certified, checked, monitor, options)


def _check_proved(certified: Certification, graph: str) -> None:
    """Raise NotCertifiedError, whose message begins with `graph`, where the certificate is no proof."""
    certificate = certified.certificate
    if certificate.verdict not in PROOFS:
        raise NotCertifiedError(
            f"{graph} is {certificate.verdict}, so it is not compiled: {'; '.join(certificate.findings)}. "
            "Mend the rules that are named, or run the function with JAX alone."
        )


def _unfit(x: Any, dtype: Any) -> str:
    """Return how an argument's dtype differs from the traced one, and what to do; "" where it does not.

    Integers may be of 32 or 64 bits: narrower ones could overflow where the function's own do not.
    """
    kind, given_kind = kind_of(dtype), kind_of(x.dtype)
    if kind == "f" != given_kind:
        return "real numbers. Pass an array of floats."
    if kind == "b" != given_kind:
        return "truth values. Pass an array of bool."
    if kind == "i" and x.dtype != dtype and not ({str(x.dtype), str(dtype)} <= {"int32", "int64"} or _is_weak(x)):
        return f"{dtype}. Pass an array of that dtype, or trace the function at one of {x.dtype}."
    return ""


def _is_weak(x: Any) -> bool:
    return bool(getattr(x, "weak_type", False))


def _is_explicit(x: Any) -> bool:
    """Return whether the placement of the array is a part of its type."""
    sharding: Any = getattr(jax.typeof(x), "sharding", None)
    placed = sharding is not None and any(axis is not None for axis in sharding.spec)
    return placed and bool(sharding.mesh.are_all_axes_explicit)


def _difference(certified: Certification) -> str | None:
    """Return the first node at which the program that runs is not the one in the certificate's step, or None."""
    traced, certificate = certified.traced, certified.certificate
    difference = traced.check() or _other_step(certified.induction, certificate.steps)
    if difference is None and digest(traced, certificate.steps, [t.digest for t in certificate.theorems]) != (
        certificate.digest
    ):
        return "its digest is another one"
    return difference


def _other_step(induction: Induction, steps: Sequence[Step]) -> str | None:
    """Return the first node whose lemma is not the one that its step names, inside loops as well, or None."""
    nodes = induction.traced.nodes
    if len(nodes) != len(steps):
        return f"it has {len(nodes)} nodes, and the certificate {len(steps)} steps"
    for node, step in zip(nodes, steps, strict=True):
        where = f"%{node.id} {node.name}{line_of(node)}"
        judgement = induction.judged.get(node.id)
        own_digest = judgement.instance.proof.lemma.digest if judgement is not None else ""
        if judgement is not None and own_digest != step.lemma:
            return (
                f"{where} runs the rules of the lemma {own_digest[:12]}, and its step names {step.lemma[:12] or 'none'}"
            )
        for inner, part in zip(induction.inside.get(node.id, ()), step.inside, strict=True):
            if (difference := _other_step(inner, part.steps)) is not None:
                return f"{where}: {difference}"
    return None
