"""The conclusions of the induction, and what they rest on."""

from __future__ import annotations

from certgrad.graph.certificate import Conclusion
from certgrad.graph.ir import Graph, Literal

ASSUMPTIONS = (
    "The claims are about real numbers; how far floating point strays from them is another matter.",
    "JAX's tracing at symbolic dimensions yields the program that it runs at each concrete size (each dimension ≥ 1); "
    "at nodes whose sizes are numbers this was checked.",
    "Every node's forward and rule is the traced program of its lemma; compiled execution runs these programs.",
)


DRAWS_ARE_FIXED = (
    "What jax.random draws from a key is some number, the same one wherever the same is drawn from the same key."
)


def conclusions(graph: Graph, holds: bool) -> list[Conclusion]:
    """Return the laws of the whole graph; `holds` says whether every step of the induction holds, and so they do."""
    reals = [n.name for n in graph.inputs if n.outputs[0].real]
    names = ", ".join(reals)
    laws = [
        Conclusion(
            name="adjoint law",
            statement=f"⟨jvp({names}; d·), seed⟩ = ⟨d·, backprop({names}; seed)⟩ for all tangents d· and every seed",
            holds=holds,
        ),
        Conclusion(
            name="derivative",
            statement=(
                "backprop is the adjoint of the Fréchet derivative of the graph at every point that satisfies the "
                "hypotheses"
            ),
            holds=holds,
        ),
    ]
    if graph.scalar_loss and not isinstance(graph.outputs[0], Literal):
        gradients = ", ".join(f"∂{graph.name}/∂{n}" for n in reals)
        laws.append(
            Conclusion(
                name="gradient", statement=f"the gradient of {graph.name} is backprop of 1: {gradients}", holds=holds
            )
        )
    return laws
