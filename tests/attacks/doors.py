"""The doors through which a wrong rule might be called proved, and the attacks of this folder."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import certgrad
from certgrad.errors import CertgradError
from certgrad.graph.certificate import GraphCertificate
from certgrad.language.arithmetic import UnfitError
from certgrad.language.tree import Compare, Statement
from certgrad.language.tree import arrays as arrays_in
from certgrad.obligations.balls._errors import BallError, Undecided
from certgrad.obligations.balls.statements import evaluate
from certgrad.process.threads import precision
from certgrad.training import SGD, certify_step

from .attack import Attack
from .wrong import shown_wrong

BITS = 256
"""The precision in which hypotheses are evaluated."""
QUICK = 60
"""One attack in so many is tried at each run of the tests; all of them, through every door, with `-m slow`."""


Names = Mapping[str, int]


class Outcome(NamedTuple):
    """What a door says of an attack. The hypotheses are those on sizes too, the ranks that the claim is about, and what
    is read as numbers are (idealisations)."""

    verdict: str
    hypotheses: tuple[str, ...] = ()
    trees: tuple[tuple[Statement, Names], ...] = ()
    """Of the hypotheses that have one, what they say, and which argument each of their arrays is."""
    shapes: frozenset[tuple[tuple[int, ...], ...]] | None = None
    """The shapes of the arguments that the claim is about, where it is about some sizes alone."""
    narrow: bool = False
    """The claim is about the program that JAX makes without 64-bit numbers."""

    def is_wrong_for(self, attack: Attack) -> bool:
        """Whether it is called proved where no listed hypothesis excludes the points at which it is wrong."""
        if not self.verdict.startswith("proved") or any(is_false(*tree, attack) for tree in self.trees):
            return False
        if self.shapes is not None and tuple(map(np.shape, attack.wrong_at())) not in self.shapes:
            return False
        if self.narrow and not shown_wrong(attack, wide=False):
            return False
        return not any(text in hypothesis for text in attack.excluded_by for hypothesis in self.hypotheses)


def is_false(statement: Statement, names: Names, attack: Attack) -> bool:
    """Whether a hypothesis is false, or undefined, at the attack's point: what is claimed is not about that.

    What many bits cannot tell from a boundary lies on it: a strict inequality is false there.
    """
    values = attack.wrong_at()
    arrays = {name: exactly(np.asarray(values[k])) for name, k in names.items() if k < len(values)}
    try:
        with precision(BITS):
            return evaluate(statement, arrays, sizes_of(attack, values)) is not True
    except Undecided:
        return isinstance(statement, Compare) and statement.relation in ("!=", ">", "<")
    except (UnfitError, BallError):
        return False


def exactly(array: np.ndarray) -> np.ndarray:
    """The entries as rationals, integers or booleans."""
    if array.dtype.kind == "f":
        return np.array([Fraction(float(x)) for x in array.flat], dtype=object).reshape(array.shape)
    return array


def sizes_of(attack: Attack, values: tuple[Any, ...]) -> dict[str, int]:
    """What the names of dimensions stand for at these values. UnfitError if they have not the signature's shapes."""
    sizes: dict[str, int] = {}
    shapes = parts(attack.signature)[0]
    if len(shapes) != len(values):
        raise UnfitError(f"{len(values)} arrays for {len(shapes)} shapes")
    for text, value in zip(shapes, values, strict=True):
        dims = text.partition(":")[0].replace("()", "").split()
        if "*s" in dims:
            continue
        if len(dims) != np.ndim(value):
            raise UnfitError(f"shape {np.shape(value)} for {text!r}")
        for dim, size in zip(dims, np.shape(value), strict=True):
            if known := re.fullmatch(r"(?:(\d+)\*)?([a-z]\w*)(?:\+(\d+))?", dim):
                number = (size - int(known[3] or 0)) // int(known[1] or 1)
                if sizes.setdefault(known[2], number) != number:
                    raise UnfitError(f"{known[2]} is {sizes[known[2]]} and {number}")
            elif dim.isdecimal() and int(dim) != size:
                raise UnfitError(f"an axis of {size} for {text!r}")
    return sizes


def attacks() -> Iterator[Attack]:
    """All attacks of this folder."""
    names: set[str] = set()
    for found in pkgutil.iter_modules(import_module(__package__).__path__):
        if found.name.startswith("test_"):
            continue
        for attack in getattr(import_module(f"{__package__}.{found.name}"), "ATTACKS", ()):
            assert attack.name not in names, f"two attacks are called {attack.name}"
            names.add(attack.name)
            yield attack


def parts(signature: str) -> tuple[list[str], list[str]]:
    """The shapes of the arguments and of the outputs."""
    inputs, _, outputs = signature.partition("->")
    return [s.strip() for s in inputs.split(",")], [s.strip() for s in outputs.split(",")]


def weighted(rule: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The loss Σ g·rule(x), whose gradient is what the rule makes of the cotangents g."""

    def loss(*args: Any) -> Any:
        outputs = jax.tree.leaves(rule(*args[:inputs]))
        return sum(
            jnp.sum(y * g) for y, g in zip(outputs, args[inputs:], strict=True) if jnp.issubdtype(y.dtype, jnp.floating)
        )

    return loss


def pullback(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The cotangents of all real arguments, as a function of arguments and cotangents."""

    def pulled(*args: Any) -> Any:
        real = [i for i in range(inputs) if jnp.issubdtype(jnp.result_type(args[i]), jnp.floating)]

        def of_real(*values: Any) -> Any:
            given = dict(zip(real, values, strict=True))
            return function(*(given.get(i, args[i]) for i in range(inputs)))

        y, back = jax.vjp(of_real, *(args[i] for i in real))
        leaves, tree = jax.tree.flatten(y)
        seeds = iter(args[inputs:])
        given = [
            next(seeds) if jnp.issubdtype(leaf.dtype, jnp.floating) else zero_like(leaf, next(seeds)) for leaf in leaves
        ]
        return back(jax.tree.unflatten(tree, given))

    return pulled


def zero_like(leaf: Any, _: Any) -> Any:
    """The cotangent of an output without a derivative."""
    return np.zeros(leaf.shape, jax.dtypes.float0)


def loss_graph(attack: Attack) -> Any:
    inputs, outputs = parts(attack.signature)
    # A graph has no stars: the attacks on ranks are wrong at rank 6.
    specs = [f"x{i}: {s.replace('*s', 's1 s2 s3 s4 s5 s6')}" for i, s in enumerate(inputs)]
    specs += [f"g{i}: {s.replace('*s', 's1 s2 s3 s4 s5 s6')}" for i, s in enumerate(outputs)]
    return certgrad.trace(weighted(attack.rule(), len(inputs)), *specs)


def by_check(attack: Attack) -> Outcome:
    report = certgrad.check(attack.rule(), attack.signature, domain=attack.domain, **attack.declared)
    scopes = {case.scope for claim in report.claims for case in claim.cases}
    names = {name: k for k, name in enumerate(inspect.signature(attack.rule()).parameters)}
    trees = tuple((h.tree, names) for claim in report.claims for h in claim.hypotheses)
    shapes = None
    if report.verdict == "proved at sizes":
        cases = (case for claim in report.claims for case in claim.cases)
        shapes = frozenset(tuple(map(numbers_in, parts(case.signature)[0])) for case in cases)
    limits = (*sorted(scopes - {"all shapes"}), *report.rests_on)
    return Outcome(report.verdict, (*map(str, report.hypotheses), *limits), trees, shapes)


def numbers_in(shape: str) -> tuple[int, ...]:
    """A shape at numbers."""
    return tuple(map(int, shape.partition(":")[0].split()))


def by_certify(attack: Attack) -> Outcome:
    found = certgrad.certify(loss_graph(attack))
    texts = [h.text for h in found.hypotheses]
    narrow = "without 64-bit numbers" in found.traced_in
    limits = (*found.dimensions, *(text for lemma in found.lemmas for text in lemma.idealisations))
    return Outcome(found.verdict, (*texts, *limits), of_inputs(found, texts), narrow=narrow)


def of_inputs(certificate: GraphCertificate, texts: Collection[str]) -> tuple[tuple[Statement, Names], ...]:
    """The hypotheses of these texts that are about the graph's inputs alone, with which input each array is."""
    numbers = {node.id: k for k, node in enumerate(certificate.graph.inputs)}
    found = []
    for step in certificate.steps:
        names = {name: numbers[ref.node] for name, ref in step.arguments.items() if ref.node in numbers}
        found += [(h.tree, names) for h in step.hypotheses if h.text in texts and arrays_in(h.tree) <= names.keys()]
    return tuple(found)


def by_equal(attack: Attack) -> Outcome:
    inputs, outputs = parts(attack.signature)
    n = len(inputs)
    own = {name: f"args_{k}" for k, name in enumerate(inspect.signature(attack.rule()).parameters)}
    domain = [re.sub(r"[a-zA-Z_]\w*", lambda found: own.get(found[0], found[0]), text) for text in attack.domain]
    found = certgrad.equal(
        pullback(attack.rule(), n), pullback(attack.plain, n), ", ".join([*inputs, *outputs]), domain=domain
    )
    names = {f"args_{k}": k for k in range(n)}
    trees = tuple((h.tree, names) for h in found.claim.hypotheses)
    return Outcome(found.verdict, (*(str(h).replace("args_0", "x") for h in found.hypotheses), *found.rests_on), trees)


def by_certify_step(attack: Attack) -> Outcome:
    inputs, _ = parts(attack.signature)
    real = [f"x{i}" for i, s in enumerate(inputs) if ":" not in s]
    graph = loss_graph(attack)
    found = certify_step(graph, SGD, real)
    traced = certgrad.certify(graph)
    listed = [h.removeprefix("gradient: ") for h in found.hypotheses if h.startswith("gradient: ")]
    narrow = "without 64-bit numbers" in traced.traced_in
    return Outcome(found.verdict, tuple(found.hypotheses), of_inputs(traced, listed), narrow=narrow)


DOORS: dict[str, Callable[[Attack], Outcome]] = {
    "check": by_check,
    "certify": by_certify,
    "equal": by_equal,
    "certify_step": by_certify_step,
}


def outcome(attack: Attack, door: str) -> Outcome:
    """What the door says; a refusal of certgrad's own is one, any other exception is a crash."""
    try:
        return DOORS[door](attack)
    except CertgradError as error:
        return Outcome(f"refused: {type(error).__name__}: {error}")
