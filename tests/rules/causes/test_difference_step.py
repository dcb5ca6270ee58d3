"""The step of the difference quotient in a reproduction."""

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

import certgrad
from certgrad.rules.causes.difference_step import difference_step
from certgrad.rules.causes.reproduction import reproduction
from certgrad.rules.subject.user_rule import UserRule

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def wrong(forward):
    """Its JVP is twice the derivative."""
    rule = jax.custom_jvp(forward)

    @rule.defjvp
    def _(primals, tangents):
        value, tangent = jax.jvp(forward, primals, tangents)
        return value, 2 * tangent

    return rule


@pytest.fixture(scope="module")
def of_sqrt():
    rule = wrong(lambda x: jnp.sqrt(x))
    return rule, certgrad.check(rule, "n").certificate


def at(certificate, x, dx):
    """Its witness at another point."""
    witness = next(case.witness for claim in certificate.claims for case in claim.cases if case.witness is not None)
    return msgspec.structs.replace(witness, dims={"n": len(x)}, inputs={"x": x}, tangents={"x": dx})


@pytest.mark.parametrize(
    ("x", "dx", "step"),
    [
        (["1", "2"], ["1", "1"], "1e-6"),
        (["1", "2/1000000000000"], ["1", "1"], "1e-15"),
        (["1", "2/1000000000000"], ["1", "0"], "1e-6"),  # what is near the edge does not move
        (["1", "2/1000000000000"], ["1", "1000"], "1e-18"),
        (["1", "0"], ["1", "1"], "1e-6"),  # on the edge every step leaves the domain
    ],
)
def test_it_stays_inside_of_the_domain(of_sqrt, x, dx, step):
    rule, certificate = of_sqrt
    assert difference_step(UserRule(rule, "n"), certificate, at(certificate, x, dx)) == step


def test_it_crosses_no_excluded_number():
    rule = wrong(lambda x: 1 / x)
    certificate = certgrad.check(rule, "n").certificate
    near = at(certificate, ["-2/1000000000", "1"], ["1", "1"])
    assert difference_step(UserRule(rule, "n"), certificate, near) == "1e-12"


def test_a_declared_domain_counts(of_sqrt):
    rule, certificate = of_sqrt
    near_3 = at(certificate, ["3000002/1000000"], ["1"])
    assert difference_step(UserRule(rule, "n"), certificate, near_3) == "1e-6"
    assert difference_step(UserRule(rule, "n", domain="x > 3"), certificate, near_3) == "1e-9"


def test_a_script_near_the_edge_shows_the_derivative(of_sqrt, capsys):
    rule, certificate = of_sqrt
    near = at(certificate, ["1", "1/1000000000000000"], ["0", "1"])
    claims = [
        msgspec.structs.replace(
            claim, cases=[msgspec.structs.replace(case, witness=case.witness and near) for case in claim.cases]
        )
        for claim in certificate.claims
    ]
    subject = UserRule(rule, "n")
    script = reproduction(subject, msgspec.structs.replace(certificate, claims=claims))
    for line, instead in (("function = ...", "function = given"), ('jax.config.update("jax_enable_x64", True)', "")):
        assert line in script
        script = script.replace(line, instead)
    with jax.enable_x64(True):
        exec(script, {"given": rule})
    words = capsys.readouterr().out.split()
    assert words[::2] == ["expected", "returned"]
    assert np.isclose(float(words[1]), 0.5 * 1e15**0.5, rtol=1e-5)
    assert np.isclose(float(words[3]), 2 * float(words[1]), rtol=1e-5)
