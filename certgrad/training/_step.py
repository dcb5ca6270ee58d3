"""A training step that runs what is certified: one evaluation, one reverse sweep, one update, compiled together."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel import Options, compile_graph
from certgrad.accel._options import PLAIN
from certgrad.errors import CertgradError, UsageError
from certgrad.graph import TracedGraph
from certgrad.graph.certifying.certify import Certification, certification
from certgrad.graph.tracing.spec import parameter_names
from certgrad.obligations.balls.statements import all_conditions_hold
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.obligations.generality.state import ReadState
from certgrad.obligations.tracing.jax_internals import kind_of, serialised, trace
from certgrad.training._arguments import Arguments, arguments_of
from certgrad.training._certify import step_certificate, unstated_certificate
from certgrad.training._context import Context
from certgrad.training._proof import applied, prove_kept, prove_update
from certgrad.training._unstated import LOSS, Unstated
from certgrad.training._updates import COUNT, Named, Run, Update
from certgrad.training.certificate import StepCertificate


class StepNotCertifiedError(CertgradError):
    """A training step is not proved, and therefore not run."""


class TrainingStep:
    """A certified training step, compiled: the stated update of θ by ∂L/∂θ, for each trained parameter θ.

    The gradient comes from the reverse sweep that the loss's certificate is about, and the update is the program that
    was proved to be the stated one.
    """

    def __init__(
        self,
        certificate: StepCertificate,
        loss: Certification,
        update: Update,
        arguments: Arguments,
        run: Run,
        keep_gradients: bool = True,
        checked: bool = False,
        monitor: bool = False,
        options: Options = PLAIN,
        domain: Sequence[str] = (),
    ) -> None:
        """Compile the certified loss with the update; `training_step` makes these arguments."""
        scalars = {*update.hyperparameters, COUNT}
        self.conditions = [
            c for c in dict.fromkeys((*update.conditions, *domain)) if {*re.findall(r"[A-Za-z_]\w*", c)} <= scalars
        ]
        """The hypotheses of the update on its hyperparameters and the count alone."""
        self.certificate, self.update, self.arguments, self.run = certificate, update, arguments, run
        self.trained, self.keep_gradients = list(certificate.trained), keep_gradients
        self.options = options
        self._state = ReadState(run, calls=True)
        """The values beyond its arguments that the update reads, as they were when it was proved."""
        self._compiled = compile_graph(loss, checked=checked, monitor=monitor, options=options)
        self.monitor = self._compiled.monitor
        self._program = options.jit(self._take, donated=[0, 1])
        self._as_given = options.device is None and None not in arguments.leaves
        """Whether the data of a step are handed to JAX as they are: no argument is static, and no device was chosen."""

    def start(
        self, parameters: Mapping[str, Any], *, hyperparameters: Mapping[str, Any] | None = None, key: Any = None
    ) -> Context:
        """Return the context before the first step, from parameters and hyperparameters by name, and a random key.

        Raises UsageError, naming it, for a parameter or hyperparameter that is missing or unknown.
        """
        named = {n: jnp.asarray(x) for n, x in self.arguments.named(parameters).items()}
        missing = [n for n in self.trained if n not in named]
        if missing:
            raise UsageError(f"The parameter {missing[0]} has no value. Pass one, as start({{'{missing[0]}': …}}).")
        trained = {n: named[n] for n in self.trained}
        if isinstance(self.update, Unstated):
            self.update.check(trained)
        return Context(
            parameters=named,
            gradients={},
            state=self.update.start(trained),
            hyperparameters=self._hyperparameters(hyperparameters or {}),
            key=jax.random.key(0) if key is None else key,
        )

    def __call__(self, context: Context, /, **data: Any) -> tuple[Context, jax.Array]:
        """Take one step on these data; return the context after the step, with the gradients, and the loss before it.

        Raises UsageError where an argument of the loss is neither a parameter of the context nor among the data, and
        where JAX traces the update again after something changed that it reads.
        """
        before, state, hyper = context.parameters, context.state, context.hyperparameters
        if self._as_given:
            after, state, loss, gradients, guard_record = self._program(before, state, hyper, data)
        else:
            inputs = before, state, hyper, self.arguments.named(data)
            after, state, loss, gradients, guard_record = self._program(*self.options.placed(inputs))
        if guard_record is not None:
            self._compiled.hear(guard_record)
        if gradients:
            gradients = {n: gradients[n] for n in self.trained}
        return context.after({**before, **after}, gradients, state), loss

    def with_hyperparameters(self, context: Context, values: Mapping[str, Any]) -> Context:
        """Return the context with other values of these hyperparameters.

        Raises UsageError for a hyperparameter that the update has not, or a value that is not in the update's domain.
        """
        if any(re.search(rf"\b{re.escape(n)}\b", c) for n in values for c in self.conditions):
            hyperparameters = self._hyperparameters({**context.hyperparameters, **values})
        else:  # no condition is on these values: do not wait for a device to have computed them
            unknown = [n for n in values if n not in context.hyperparameters]
            if unknown or not all(map(_is_number, values.values())):
                self._hyperparameters({**context.hyperparameters, **values})
            hyperparameters = {**context.hyperparameters, **{n: jnp.asarray(v, float) for n, v in values.items()}}
        return replace(context, hyperparameters=hyperparameters)

    def program(self, context: Context, /, **data: Any) -> Any:
        """Return the step at these data, lowered by JAX anew: `.compile()` for its costs, `.as_text()` to read it."""
        arrays = data if self._as_given else self.arguments.named(data)
        return self.options.jit(self._take, donated=[0, 1]).lower(
            context.parameters, context.state, context.hyperparameters, arrays
        )

    def _given(self, parameters: Named, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arrays in the data by name. Raises UsageError if one is missing, or is a parameter."""
        arrays = self.arguments.named(data)
        missing = [n for n in self.arguments.names if n not in arrays and n not in parameters]
        if missing:
            raise UsageError(
                f"The loss needs a value for {missing[0]}. Pass it, as step(context, {_example(missing)})."
            )
        doubled = [n for n in arrays if n in parameters]
        if doubled:
            raise UsageError(f"{doubled[0]} is a parameter of the context. Do not pass it as data too.")
        return arrays

    def _take(self, parameters: Named, state: Named, hyper: Named, data: Mapping[str, Any]) -> Any:
        """Take a step, as the function that JAX compiles: the forward, the reverse sweep, then the update.

        Returns the new parameters and state, the loss, the gradients, and the record of the guards (None without them).
        Its checks run when JAX traces it, which it does again for data or parameters of other names, shapes or dtypes.
        """
        if changed := self._state.compare():
            raise UsageError(
                f"{changed}, which {self.update.name} reads, is not what it was when this step was certified, and the "
                "step would run another update. Make the step after it is set, or give it as a hyperparameter."
            )
        values = {**parameters, **self._given(parameters, data)}  # the loss takes both, nested as its specs
        specs = self.arguments.specs
        nested = specs.nest([values[n] for n in self.arguments.names])
        compiled = self._compiled.at(*nested)
        sweep, leaves = compiled.sweep(*nested)
        reached, watched = compiled.reach(sweep, leaves)
        (loss,) = sweep.outputs(reached)
        # the seed of a scalar loss is 1
        cotangents = sweep.backward(reached, [jnp.ones((), loss.dtype)])
        inputs = zip(self.arguments.names, compiled.certified.traced.ir.inputs, leaves, strict=True)
        by_name = {n: cotangents.get((node.id, 0), jnp.zeros_like(x)) for n, node, x in inputs if n in self.trained}
        # by `options` the graph may run in another dtype than that of the parameters
        gradients = {n: by_name[n].astype(parameters[n].dtype) for n in self.trained}
        real = jnp.result_type(*(parameters[n] for n in self.trained))
        hyper = {k: jnp.asarray(v, real) for k, v in hyper.items()}
        if isinstance(self.update, Unstated):
            hyper[LOSS] = loss.astype(real)
        else:
            self._check_dtypes(parameters, gradients, state, hyper)
        new, new_state = applied(self.run, parameters, gradients, state, hyper)
        guard_record = compiled.look(sweep, watched, loss, gradients, cotangents)
        return new, new_state, loss, gradients if self.keep_gradients else {}, guard_record

    def _check_dtypes(self, *arguments: Any) -> None:
        """Raise UsageError if the update is another program in the dtypes of these arguments than in float32.

        It is proved in float32 and float64. In other dtypes, its trace must be the same but for the dtypes.
        """
        leaves, structure = jax.tree.flatten(arguments)
        run_types = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
        other_dtypes = {str(x.dtype) for x in run_types if kind_of(x.dtype) == "f"} - {"float32", "float64"}
        if not other_dtypes:
            return
        proved_types = [
            jax.ShapeDtypeStruct(x.shape, jnp.float32 if kind_of(x.dtype) == "f" else x.dtype) for x in run_types
        ]

        def flat(*values: Any) -> Any:  # `trace` takes functions of arrays only
            return applied(self.run, *jax.tree.unflatten(structure, values))

        if len({serialised(trace(flat, specs), erase_dtypes=True) for specs in (run_types, proved_types)}) > 1:
            names = " and ".join(sorted(other_dtypes))
            raise UsageError(
                f"{self.update.name} is proved in float32 and float64, and in {names} it is another program. "
                "Keep the parameters in float32: by `options` the graph is still run in another dtype."
            )

    def __str__(self) -> str:
        """Return the step's program and the options in force."""
        dtypes = self.arguments.specs.dtypes
        trained = [d for n, d in zip(self.arguments.names, dtypes, strict=True) if n in self.trained]
        return (
            f"training step of {self.certificate.loss} by {self.update.name}\n{self.options.in_force(dtypes, trained)}"
        )

    def _hyperparameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all hyperparameters as arrays: those that are given, else their defaults.

        Raises UsageError for an unknown or missing one, and for a value that is no finite number or is not in the
        update's domain, where the count of steps is taken as 0.
        """
        table = self.update.hyperparameters
        unknown = [k for k in given if k not in table]
        if unknown:
            raise UsageError(f"{self.update.name} has no hyperparameter '{unknown[0]}'; it has {', '.join(table)}.")
        values = {k: given.get(k, default) for k, default in table.items()}
        missing = [k for k, v in values.items() if v is None]
        if missing:
            raise UsageError(
                f"{self.update.name} needs a value for {missing[0]}: start(…, hyperparameters={{'{missing[0]}': …}})."
            )
        if wrong := [k for k, v in values.items() if not (_is_number(v) and math.isfinite(v))]:
            raise UsageError(f"{wrong[0]} is {values[wrong[0]]!r}. A hyperparameter is one finite number.")
        exact = {k: Fraction(repr(float(v))) for k, v in values.items()} | {COUNT: Fraction(0)}
        broken = next((c for c in self.conditions if not all_conditions_hold((c,), exact)), None)
        if broken is not None:
            shown = ", ".join(f"{k} = {v}" for k, v in values.items())
            raise UsageError(f"{self.update.name} is proved where {broken}, and that does not hold of {shown}.")
        return {k: jnp.asarray(v, float) for k, v in values.items()}


def certify_step(
    graph: TracedGraph | Certification,
    update: Update,
    parameters: Sequence[str],
    *,
    frozen: Sequence[str] = (),
    run: Run | None = None,
    domain: Sequence[str] = (),
) -> StepCertificate:
    """Return the certificate of a training step. A part that is not proved is a finding; all parts are reported.

    Args:
        graph: of a scalar loss, from `certgrad.trace`.
        update: the stated update.
        parameters: the arguments of the loss that are trained, by name: an array (`W1`), or an argument with all its
            arrays (`params`).
        frozen: arguments that the step returns as they are.
        run: the program that takes the step, where it is not the update's own: an optimizer of another library, say.
        domain: further hypotheses for the update, as `prove_update` takes them.

    Raises:
        UsageError: the graph does not return one real number, or a name is not one of its real arguments.
    """
    loss = graph if isinstance(graph, Certification) else certification(graph)
    return _certified(loss, update, parameters, frozen, run, domain)[0]


def training_step(
    graph: TracedGraph | Certification,
    update: Update,
    parameters: Sequence[str],
    *,
    frozen: Sequence[str] = (),
    run: Run | None = None,
    domain: Sequence[str] = (),
    keep_gradients: bool = True,
    checked: bool = False,
    monitor: bool = False,
    options: Options = PLAIN,
) -> TrainingStep:
    """Return the certified step as a program. Arguments and errors are those of `certify_step`.

    Without `keep_gradients` the context after a step has no gradients: the compiled program then does not return them,
    which saves their memory. `checked`, `monitor` and `options` are those of `compile_graph`. A checked step that
    raises GuardError leaves the context as it was; counts of a monitored step are in `TrainingStep.monitor`. With the
    option `donate` a step uses up the context that it is given, so that it cannot be checked. `print` the step to see
    which options are in force.

    Raises UsageError where a step is to be checked and to donate.
    Raises StepNotCertifiedError, with the findings, for a step that is not proved.
    """
    if checked and options.donate:
        raise UsageError("A checked step leaves the context as it was, and one that donates uses it up. Choose one.")
    loss = graph if isinstance(graph, Certification) else certification(graph)
    certificate, arguments, update = _certified(loss, update, parameters, frozen, run, domain)
    if certificate.verdict not in PROVED_AS_WRITTEN:
        raise StepNotCertifiedError(
            f"The training step of {certificate.loss} is {certificate.verdict}, so it is not run: "
            f"{'; '.join(certificate.findings)}. Mend what is named, or train with JAX alone."
        )
    return TrainingStep(
        certificate,
        loss,
        update,
        arguments,
        update.run if run is None else run,
        keep_gradients,
        checked,
        monitor,
        options,
        domain,
    )


def _certified(
    loss: Certification,
    update: Update,
    parameters: Sequence[str],
    frozen: Sequence[str],
    run: Run | None,
    domain: Sequence[str],
) -> tuple[StepCertificate, Arguments, Update]:
    """Return a step's certificate, the loss's arguments, and the update, bound to the parameters' nesting if unstated.

    Raises UsageError as `certify_step` does.
    """
    traced = loss.traced
    if not traced.ir.scalar_loss:
        raise UsageError(f"{traced.ir.name} does not return one real number, so there is no gradient to step along.")
    arguments = arguments_of(traced.specs, parameter_names(traced.fn) if traced.fn else [])
    trained = arguments.chosen(parameters, "parameter")
    unchanged = arguments.chosen(frozen, "frozen parameter")
    if doubled := [n for n in trained if n in unchanged]:
        raise UsageError(f"{doubled[0]} is both trained and frozen. Name it once.")
    not_real = next((n for n in trained if not arguments.is_real(n)), None)
    if not_real is not None:
        raise UsageError(f"{not_real} is an array of integers or booleans, which has no gradient. Do not train it.")
    program = str(getattr(update.run if run is None else run, "__name__", "a program")).lstrip("_")
    if isinstance(update, Unstated):
        if run is not None or domain:
            raise UsageError(f"Nothing is stated of {update.name}, so no other program or domain goes with it.")
        certificate = unstated_certificate(loss.certificate, update, trained, unchanged)
        return certificate, arguments, update.nested(arguments.nesting(trained))
    equality = prove_update(
        update, {n: arguments.spec(n) for n in trained}, {n: arguments.spec(n) for n in unchanged}, run, domain
    )
    invariant = prove_kept(update, map(arguments.spec, trained))
    certificate = step_certificate(loss.certificate, update, program, trained, unchanged, equality, invariant)
    return certificate, arguments, update


def _is_number(value: Any) -> bool:
    """Return whether a value is one real number, of Python or in an array on any device.

    A float of Python must be finite; the number in an array is not looked at, since that would wait for its device.
    """
    if np.shape(value) != () or isinstance(value, str | None):
        return False
    dtype = jnp.result_type(value)
    real = jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer)
    return real and (not isinstance(value, float) or math.isfinite(value))


def _example(names: Sequence[str]) -> str:
    return f"{names[0]}=…" if names[0].isidentifier() else f"**{{'{names[0]}': …}}"
