"""What each code means, for `certgrad explain CODE` and the documentation. A code never changes its meaning."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A code, the obligation that it names, and an example of a rule that breaks it."""

    code: str
    kind: str
    title: str
    statement: str
    meaning: str
    example: str


CODES: dict[str, Code] = {
    entry.code: entry
    for entry in (
        Code(
            code="CG101",
            kind="jvp_is_derivative",
            title="the JVP is the derivative of the forward",
            statement="for all x in the domain and all dx: jvp(x, dx) = d/dt forward(x + t·dx) at t = 0",
            meaning=(
                "The JVP (forward mode) maps a tangent dx to the change of the output. certgrad traces the forward at "
                "symbolic dimensions, differentiates the traced program along dx, and proves that the JVP computes the "
                "same real number at every index, for every shape. At a point that the hypotheses exclude (a kink, the "
                "edge of the domain) nothing is claimed; what the rule returns there is its convention."
            ),
            example=(
                "@op('*s -> *s')\n"
                "def square(x):\n"
                "    return x * x\n"
                "\n"
                "@square.jvp\n"
                "def _(x, dx):\n"
                "    return x * dx          # refuted: the derivative is 2 * x * dx"
            ),
        ),
        Code(
            code="CG102",
            kind="vjp_is_adjoint",
            title="the VJP is the adjoint of the JVP",
            statement="for all x, dx and seed: ⟨jvp(x, dx), seed⟩ = ⟨dx, vjp(x, seed)⟩",
            meaning=(
                "The VJP (reverse mode) maps a seed, the cotangent of the output, to one cotangent for every argument. "
                "The inner products sum over all entries, so the law fixes the VJP completely once the JVP is known: "
                "together with CG101 it says that reverse mode returns the gradient. Alone it says nothing about the "
                "derivative, because a JVP and a VJP that share a mistake still satisfy it."
            ),
            example=(
                "@op('n, n -> n')\n"
                "def mul(x, y):\n"
                "    return x * y\n"
                "\n"
                "@mul.vjp\n"
                "def _(x, y, seed):\n"
                "    return seed * x, seed * y    # refuted: the two cotangents are swapped"
            ),
        ),
        Code(
            code="CG103",
            kind="rule_runs_forward",
            title="the rule returns the value of the forward",
            statement="for all x in the domain: the primal output of the rule = forward(x)",
            meaning=(
                "A rule with residuals computes the output again (its fwd). JAX does not check that it equals the "
                "function: if it does not, value_and_grad returns another value than the call itself. An op without "
                "a fwd of its own runs the forward as it is, and the claim is immediate."
            ),
            example=(
                "@softplus.fwd\n"
                "def _(x):\n"
                "    e = jnp.exp(x)\n"
                "    return jnp.log(e), e      # refuted: the forward is log(1 + exp(x))"
            ),
        ),
    )
}
