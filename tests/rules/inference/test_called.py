"""Calls of a rule in its module, its project and its tests are evidence of the choice of ranks, dtypes and values."""

import itertools
import sys
import textwrap

import pytest

from certgrad.rules.finding.find import find
from certgrad.rules.inference.calls import calls_of
from certgrad.rules.judging.by_name import examined

pytestmark = pytest.mark.usefixtures("verdicts_alone")

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random
"""
RULE = """
@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def rule(x, w, axis):
    return jnp.sum(x, axis) * jnp.sum(w)

rule.defvjp(lambda x, w, axis: (rule(x, w, axis), None), lambda axis, r, g: (None, None))
"""
_NUMBERS = itertools.count()


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Writes the module of a project and other files, and finds the rules of the module."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "pyproject.toml").write_text("")

    def written(module, /, **files):
        name = f"ops{next(_NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(HEAD + textwrap.dedent(module))
        for place, text in files.items():
            file = tmp_path / f"{place.replace('__', '/')}.py"
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text(HEAD + textwrap.dedent(text).replace("OPS", name))
        return {one.name.rpartition(":")[2]: one for one in find(str(tmp_path / f"{name}.py")).rules}

    yield written
    for name in [n for n in sys.modules if n.startswith("ops") and n[3:].isdigit()]:
        del sys.modules[name]


def arguments(found):
    """Of each call what it gives: ranks, dtypes and literals, by the names of the arguments."""
    return [
        {name: (one.rank, one.kind, *([one.value.value] if one.value else [])) for name, one in call.given}
        for call in calls_of(found)
    ]


FLOATS, INTS, BOOLS = "", ":int", ":bool"
MATRIX, VECTOR, NUMBER = (2, FLOATS), (1, FLOATS), (0, FLOATS)

READ = {
    "shapes": ("rule(jnp.ones((3, 4)), jnp.zeros(3), 1)", [{"x": MATRIX, "w": VECTOR, "axis": (0, None, 1)}]),
    "sizes by name": ("n, d = 3, 4\nx = np.full((n, d), 0.5)\nrule(x, None, -1)", [
        {"x": MATRIX, "w": (None, None, None), "axis": (0, None, -1)}]),
    "drawn": ("key = random.PRNGKey(0)\nrule(random.normal(key, (2, 3, 4)), random.uniform(key), 0)", [
        {"x": (3, FLOATS), "w": NUMBER, "axis": (0, None, 0)}]),
    "drawn by numpy": ("g = np.random.default_rng(0)\nrule(g.standard_normal((3, 4)), g.integers(0, 3, 5), axis=0)", [
        {"x": MATRIX, "w": (1, INTS), "axis": (0, None, 0)}]),
    "integers drawn": ("rule(random.randint(random.key(0), (4,), 0, 3), np.random.randn(3, 4), 0)", [
        {"x": (1, INTS), "w": MATRIX, "axis": (0, None, 0)}]),
    "entries": ("rule(jnp.array([[1.0, 2], [3, 4]]), jnp.array([True, False]), 0)", [
        {"x": MATRIX, "w": (1, BOOLS), "axis": (0, None, 0)}]),
    "by its dtype": ("rule(jnp.arange(6.0).reshape(2, 3), np.arange(3, dtype=np.int32), 0)", [
        {"x": MATRIX, "w": (1, INTS), "axis": (0, None, 0)}]),
    "a row, and a column": ("x = jnp.eye(3)\nrule(x[0], x[:, None], 0)", [
        {"x": VECTOR, "w": (3, FLOATS), "axis": (0, None, 0)}]),
    "computed": ("x = jnp.linspace(0, 1, 5)\nrule(2 * jnp.exp(-x) + 1, x > 0.5, 0)", [
        {"x": VECTOR, "w": (1, BOOLS), "axis": (0, None, 0)}]),
    "alike": ("x = jnp.ones((2, 3))\nrule(jnp.zeros_like(x), jnp.ones(x.shape[1:]), 0)", [
        {"x": MATRIX, "w": VECTOR, "axis": (0, None, 0)}]),
    "numbers and texts": ("rule(1.5, 2, 'mean')", [
        {"x": (0, FLOATS, 1.5), "w": (0, None, 2), "axis": (None, None, "mean")}]),
    "by name": ("rule(axis=(0, 1), w=jnp.ones(3), x=jnp.ones((3, 4)))", [
        {"axis": (None, None, (0, 1)), "w": VECTOR, "x": MATRIX}]),
    "a function makes them": ("def made(n):\n    return jnp.ones((n, 3)), jnp.ones(n)\nx, w = made(2)\nrule(x, w, 0)", [
        {"x": MATRIX, "w": VECTOR, "axis": (0, None, 0)}]),
    "a gradient": ("x = jnp.ones((3, 4))\njax.grad(lambda x: rule(x, 2.0, 0).sum())(x)", [
        {"x": MATRIX, "w": (0, FLOATS, 2.0), "axis": (0, None, 0)}]),
    "a loss": ("def f(x):\n    return rule(x, jnp.ones(3), 0)\njax.value_and_grad(jax.jit(f))(jnp.ones((3, 4)))", [
        {"x": MATRIX, "w": VECTOR, "axis": (0, None, 0)}]),
    "a map": ("jax.vmap(rule, in_axes=(0, None, None))(jnp.ones((2, 3, 4)), jnp.ones(3), 0)", [
        {"x": MATRIX, "w": VECTOR, "axis": (0, None, 0)}]),
    "a map over an unknown axis": ("jax.vmap(rule, in_axes=axes)(jnp.ones((2, 3)), jnp.ones(3), 0)", []),
    "a partial": ("f = functools.partial(rule, axis=1)\nf(jnp.ones((3, 4)), 1.0)", [
        {"axis": (0, None, 1), "x": MATRIX, "w": (0, FLOATS, 1.0)}]),
    "a pullback": ("jax.vjp(lambda *a: rule(*a, axis=0), jnp.ones((3, 4)), jnp.ones(4))", [
        {"x": MATRIX, "w": VECTOR, "axis": (0, None, 0)}]),
    "a name bound twice": ("x = jnp.ones(3)\nx = jnp.ones((3, 4))\nrule(x, w, axis)", []),
    "a name bound in a loop": ("for x in [jnp.ones(3)]:\n    rule(x, x, x)", []),
    "a list that grows": ("rows = [1.0]\nrows.append([2.0])\nrule(jnp.array(rows), rows, rows)", []),
    "what cannot be read": ("rule(load('x'), [1.0, 2.0], *others)\nrule(**options)\nx = x\nrule(x, x, x)", []),
    "complex numbers": ("rule(jnp.ones(3, dtype=complex), jnp.ones(3, jnp.complex64), axis)", []),
    "another function of the name": ("def f(rule):\n    rule(jnp.ones(3), 1.0, 0)", []),
    "a shape that is given": ("def f(shape):\n    rule(jnp.ones(shape), jnp.ones(shape[0]), axis)", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_what_is_read_of_a_call(project, text, expected):
    body = f"from OPS import rule\n\ndef test():\n{textwrap.indent(text, '    ')}\n"
    known = [one for one in arguments(project(RULE, tests__test_ops=body)["rule"]) if len(one) == 3]
    assert known == [one for one in expected if len(one) == 3]
    if not expected:
        assert not any(one.get("x") or one.get("w") for one in arguments(project(RULE, tests__test_ops=body)["rule"]))


CONFTEST = """
@pytest.fixture
def w():
    yield jnp.ones(4)
"""
PLACES = {
    "a row of parametrize": ("""
        @pytest.mark.parametrize(("x", "axis"), [(jnp.ones((3, 4)), 1), pytest.param(jnp.ones(3), 0, id="one")])
        def test(x, axis):
            rule(x, 2.0, axis)
        """, [(2, 1), (1, 0)]),
    "a shape of parametrize": ("""
        @pytest.mark.parametrize("shape", [(3,), (2, 3)])
        def test(shape):
            rule(jnp.ones(shape), 2.0, 0)
        """, [(1, 0), (2, 0)]),
    "parametrized twice": ("""
        @pytest.mark.parametrize("n", [1, 2])
        class TestRule:
            @pytest.mark.parametrize("axis", [0, -1])
            def test(self, n, axis):
                rule(jnp.ones((n, 2)), 2.0, axis)
        """, [(2, 0), (2, -1)]),
    "a fixture of the file": ("""
        @pytest.fixture(scope="module")
        def x():
            return np.zeros((2, 3))

        def test(x):
            rule(x, 2.0, 0)
        """, [(2, 0)]),
    "by another name": ("""
        import OPS as ops
        from OPS import rule as other

        def test():
            ops.rule(jnp.ones(3), 2.0, 0)
            jax.jit(other)(jnp.ones((3, 4)), 2.0, 0)
        """, [(1, 0), (2, 0)]),
    "where a module runs": ("if __name__ == '__main__':\n    print(rule(jnp.ones((3, 4)), 1.0, 0))", [(2, 0)]),
    "a helper that is handed the rule": ("""
        def agrees(f, *args):
            jax.grad(f)(*args, 0)

        def test():
            agrees(rule, jnp.ones((3, 4)), 2.0)
        """, [(2, 0)]),
    "a wrapper of the module": ("""
        from OPS import rescaled

        def test():
            rescaled(jnp.ones((3, 4)))
        """, [(None, -1), (2, -1)]),
    "a file that does not parse": ("def test(:\n    rule(jnp.ones(3), 1.0, 0)", []),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PLACES.values(), ids=PLACES)
def test_where_calls_are_read(project, text, expected):
    module = RULE + "\ndef rescaled(x, axis=-1):\n    return rule(x, 2.0, axis)\n"
    test = f"from OPS import rule\n{textwrap.dedent(text)}"
    calls = calls_of(project(module, tests__test_ops=test)["rule"])
    known = [(call.of("x").rank, call.of("axis").value) for call in calls]
    read = [(rank, axis.value) for rank, axis in known if axis is not None]
    assert [one for one in read if one != (None, -1) or one in expected] == expected


def test_a_fixture_of_a_conftest_and_a_relative_import(project):
    test = "from OPS import rule\n\ndef test(w):\n    rule(w, w, 0)\n"
    found = project(RULE, tests__conftest=CONFTEST, tests__inner__test_ops=test)
    assert [call.of("w").rank for call in calls_of(found["rule"])] == [1]


def test_other_projects_are_not_read(project, tmp_path):
    """Of an installed package its own files are, and nothing beside it."""
    call = "from OPS import rule\nrule(jnp.ones(3), 1.0, 0)\n"
    found = project(RULE, **{"site-packages__other": call, ".venv__other": call, "node_modules__other": call})
    assert calls_of(found["rule"]) == ()


GATHER = """
@jax.custom_vjp
def gather(x, index):
    return x[index]

gather.defvjp(lambda x, i: (x[i], (x, i)), lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].set(g), None))
"""
SCALED = """
@jax.custom_jvp
def scaled(x, c):
    return x * c

@scaled.defjvp
def _(primals, tangents):
    (x, c), (dx, dc) = primals, tangents
    return x * c, dx * c + x * dc
"""
REDUCED = """
def value(x, reduction):
    if reduction not in ("mean", "sum"):
        raise ValueError(reduction)
    return jnp.mean(x) if reduction == "mean" else jnp.sum(x)

reduced = jax.custom_vjp(value, nondiff_argnums=(1,))

def bwd(reduction, x, g):
    return (jnp.full_like(x, g / (x.size if reduction == "mean" else FACTOR)),)

reduced.defvjp(lambda x, r: (value(x, r), x), bwd)
"""
SOFTMAX = """
@jax.custom_vjp
def softmax(x):
    return jax.nn.softmax(x, -1)

softmax.defvjp(lambda x: (softmax(x),) * 2, lambda y, g: (y * (g - jnp.sum(y * g)),))
"""
SUMS_ROWS = """
@jax.custom_vjp
def shifted(x, b):
    return x + b

shifted.defvjp(lambda x, b: (x + b, b), lambda b, g: (g, jnp.sum(g, 0) if g.ndim > b.ndim else g))
"""
MASKED = """
@jax.custom_vjp
def masked(x, mask):
    return x * mask

masked.defvjp(lambda x, m: (x * m, m), lambda m, g: (g * m, None))
"""
MEAN = """
@jax.custom_vjp
def mean(x):
    return jnp.mean(x**2)

mean.defvjp(lambda x: (mean(x), x), lambda x, g: (2 * g * x / x.shape[0],))
"""
PRODUCT = """
@jax.custom_vjp
def product(x, w):
    return x * w

product.defvjp(lambda x, w: (x * w, (x, w)), lambda r, g: (g * r[1], jnp.sum(g * r[0], 0)))
"""
X, W, B3 = "jnp.ones((3, 4))", "jnp.ones(4)", "jnp.ones((2, 3, 4))"

DECIDED = {
    "no call": (GATHER, "", "n d, ():int", "proved under hypotheses", 'with "n d, m:int" it is refuted'),
    "wrong as it is called": (
        GATHER, f"gather({X}, jnp.array([0, 1]))", "n d, m:int", "refuted",
        'test in test_ops.py calls it so; with "n d, m k:int" it is refuted; with "n d, ():int" it is proved'),
    "right as it is called": (
        GATHER, f"gather({X}, 1)", "n d, ():int", "proved under hypotheses",
        'test in test_ops.py calls it so; with "n d, m:int" it is refuted'),
    "called in two ways, and wrong in one": (
        GATHER, f"gather({X}, 1)\ngather({X}, jnp.array([0, 1]))", "n d, m:int", "refuted",
        'with "n d, ():int", as test in test_ops.py calls it, it is proved under hypotheses'),
    "a mean over the first axis, and matrices called": (
        MEAN, f"mean({X})", "n d", "refuted", 'test in test_ops.py calls it so; with "n" it is proved'),
    "a mean over the first axis, and vectors called": (
        MEAN, f"mean({W})", "n", "proved", 'test in test_ops.py calls it so; with "n d" it is refuted'),
    "a number": (SCALED, f"scaled({X}, 2.0)", "n d, ()", "proved", ""),
    "rows of numbers": (SCALED, f"scaled({X}, {W})", "n d, d", "proved", ""),
    "vectors and numbers": (SCALED, f"scaled({W}, 2.0)", "n d, ()", "proved", ""),
    "numbers alone": (SCALED, "scaled(1.0, 2.0)", "n d, n d", "proved", ""),
    "a call that cannot be read": (SCALED, "scaled(*arrays)", "n d, n d", "proved", ""),
    "whole numbers in forward mode": (SCALED, f"scaled({X}, jnp.arange(4))", "n d, d", "proved", ""),
    "whole numbers with a gradient": (PRODUCT, f"product({X}, jnp.arange(4))", "n d, d", "proved", ""),
    "three axes": (SCALED, f"scaled({B3}, {B3})", "b n d, b n d", "proved", ""),
    "right for rows, and called with more": (
        SUMS_ROWS, f"shifted({B3}, {W})", "n d, n d", "proved",
        'the function also runs with "n d m, m", as test in test_ops.py calls it, where its rule fails: the cotangent'),
    "an axis is forgotten, and vectors called": (
        SOFTMAX, f"softmax({W})", "n d", "refuted", 'with "n", as test in test_ops.py calls it, it is proved'),
    "a mask": (MASKED, f"masked({X}, jnp.array([[True, False, True, False]]))", "n d, n d:bool", "proved", ""),
}  # fmt: skip


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("module", "calls", "signature", "verdict", "said"), DECIDED.values(), ids=DECIDED)
def test_the_verdict_rests_on_what_is_called(project, module, calls, signature, verdict, said):
    name = module.partition("def ")[2].partition("(")[0]
    body = f"from OPS import {name}\n\ndef test():\n    arrays = load()\n{textwrap.indent(calls, '    ')}\n"
    result, _ = examined(project(module, tests__test_ops=body)[name], {}, conformance=False)
    assert (result.inferred, result.certificate.verdict) == (f'"{signature}"', verdict)
    assert said in result.remarks[0].text


@pytest.mark.parametrize(("factor", "verdict"), [("1", "proved"), ("2", "refuted")])
def test_values_that_calls_use_are_tried(project, factor, verdict):
    test = f"from OPS import reduced\nreduced({X}, 'sum')\nreduced({X}, 'mean')\n"
    found = project(REDUCED.replace("FACTOR", factor), tests__test_ops=test)["reduced"]
    result, _ = examined(found, {}, conformance=False)
    assert result.certificate.verdict == verdict
    statics = {case.statics["reduction"] for claim in result.certificate.claims for case in claim.cases}
    assert statics == {"sum", "mean"}
