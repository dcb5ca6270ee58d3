"""`order=2`: the derivative that JAX makes of a rule's cotangents."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.cli import _code
from certgrad.errors import UsageError
from certgrad.rules.project.configuration import nearest
from certgrad.testing import assert_certified

pytestmark = pytest.mark.usefixtures("proofs_alone")


def rule(value, bwd):
    made = jax.custom_vjp(value)
    made.defvjp(lambda *args: (value(*args), args), bwd)
    return made


def product(x, w):
    return jnp.sum(x * w, axis=-1)


RIGHT = rule(product, lambda r, g: (g[:, None] * r[1], jnp.sum(g[:, None] * r[0], axis=0)))
STOPPED = rule(
    lambda x: x**3,
    lambda r, g: (g * jax.lax.stop_gradient(3 * r[0] ** 2),),
)


@jax.custom_jvp
def inner(x):
    return x**2


inner.defjvp(lambda primals, tangents: (primals[0] ** 2, 3 * primals[0] * tangents[0]))
BY_A_WRONG_RULE = rule(lambda x: x**3, lambda r, g: (3 * g * inner(r[0]),))


@pytest.mark.slow
def test_a_right_rule_is_right_twice():
    report = certgrad.check(RIGHT, "n d, d", order=2, conformance=False)
    assert report.proved
    assert report.second.proved
    assert report.second.name == "gradient of product"
    assert {c.verdict for c in report.second.claims} == {"proved"}
    assert certgrad.check(RIGHT, "n d, d", conformance=False).second is None


def value_is_stopped():
    made = jax.custom_jvp(lambda x: x**3)
    made.defjvp(lambda p, t: (jax.lax.stop_gradient(p[0]) ** 3, 3 * p[0] ** 2 * t[0]))
    return made


@pytest.mark.one_in(3)
@pytest.mark.parametrize("wrong", [STOPPED, BY_A_WRONG_RULE, value_is_stopped()])
def test_a_rule_that_is_right_once_and_not_twice(wrong):
    """The first claim compares values, and a second derivative goes through the code of the rule."""
    first = certgrad.check(wrong, "*s -> *s", conformance=False)
    assert first.proved
    report = certgrad.check(wrong, "*s -> *s", order=2, conformance=False, sizes=None)
    assert report.certificate.verdict == first.verdict
    assert not report.proved
    assert report.verdict == report.second.verdict
    assert "gradient of" in str(report)


def test_it_is_part_of_what_a_test_asserts():
    assert assert_certified(RIGHT, "n d, d", order=1).second is None
    with pytest.raises(AssertionError, match="not certified"):
        assert_certified(STOPPED, "n -> n", order=2, sizes=None)


def test_what_order_2_cannot_look_at():
    with pytest.raises(UsageError, match="1 or 2"):
        certgrad.check(RIGHT, "n d, d", order=3)
    with pytest.raises(UsageError, match="order=2 needs the shapes of the outputs"):
        certgrad.check(STOPPED, "*s", order=2, conformance=False)


@pytest.mark.slow
def test_a_declaration_asks_for_it(tmp_path, monkeypatch):
    """A row of its own, from `declare`, from the configuration or for every rule from the command line."""
    source = """
import certgrad, jax

def cube(x):
    return x**3

def made(order):
    rule = jax.custom_vjp(cube)
    rule.defvjp(lambda x: (cube(x), x), lambda x, g: (g * jax.lax.stop_gradient(3 * x**2),))
    return certgrad.declare(" -> ", order=order)(rule)

once, twice = made(1), made(2)
"""
    (tmp_path / "cubes.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    code = _code.audit(["cubes.py"], _code.Limits(300, 120), conformance=False)
    found = {rule.name: rule.certificate.verdict for rule in code.rules}
    assert found == {"cubes:once": "proved", "cubes:twice": "proved", "cubes:gradient of twice": "unproved"}
    assert _code.by_file(code) == ["cubes.py: 2 rules found, all audited"]


def test_what_order_a_file_cannot_say(tmp_path):
    for line in ("order = 3", "order = true", "[tool.certgrad.signatures]\n'm:f' = { signature = 'n', order = 0 }"):
        (tmp_path / "pyproject.toml").write_text(f"[tool.certgrad]\n{line}\n")
        with pytest.raises(UsageError, match="and not 1 or 2"):
            nearest(tmp_path)
