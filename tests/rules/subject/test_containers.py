"""Arguments that hold several arrays, of which nobody declares the structure."""

import re
import textwrap
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Float

from certgrad.errors import SignatureError
from certgrad.obligations.cache._identity import Identity
from certgrad.rules import check
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import examined
from tests.rules.inference.test_called import project  # noqa: F401

pytestmark = pytest.mark.usefixtures("verdicts_alone")


class Affine(NamedTuple):
    w: jax.Array
    b: jax.Array


class Scaled(NamedTuple):
    inner: Affine
    scale: float
    shift: jax.Array | None = None


class Moments(NamedTuple):
    mean: jax.Array
    var: jax.Array


class Typed(NamedTuple):
    w: Float[Array, "d m"]  # noqa: F722
    b: Float[Array, "m"]  # noqa: F821


@partial(jax.tree_util.register_dataclass, data_fields=["h", "c"], meta_fields=["bias"])
@dataclass
class State:
    h: jax.Array
    c: jax.Array
    bias: float = 1.0


class Gate(eqx.Module):
    w: jax.Array
    sharpness: float = eqx.field(static=True, default=2.0)


@dataclass
class Plain:
    w: jax.Array


def custom(value, backward, forward=None):
    made = jax.custom_vjp(value)
    made.defvjp(forward or (lambda *xs: (value(*xs), xs)), backward)
    return made


def affine(params: Affine, x):
    return x @ params.w + params.b


def affine_of_any(params, x):
    return x @ params.w + params.b


def affine_typed(params: Typed, x: Float[Array, "n d"]):  # noqa: F722
    return x @ params.w + params.b


def affine_of_dict(params, x):
    return x @ params["w"] + params["b"]


def affine_of_pair(params, x):
    w, b = params
    return x @ w + b


def affine_of_typed_pair(params: tuple[jax.Array, jax.Array], x):
    return x @ params[0] + params[1]


def _times(weights, x):
    return x @ weights["w"]


def through_helper(params: dict[str, jax.Array], x):
    return _times(params, x) + params["b"]


def of_layers(params, x):
    return affine_of_dict(params["second"], jnp.sin(affine_of_dict(params["first"], x)))


def scaled(params: Scaled, x):
    y = affine(params.inner, x) * params.scale
    return y if params.shift is None else y + params.shift


def whitened(moments, x):
    return (x - moments.mean) * moments.var


def step(state: State, x):
    c = state.c * x + state.bias
    return State(state.h * jnp.sin(c), c)


def gated(gate: Gate, x):
    return jnp.tanh(gate.sharpness * x @ gate.w)


def layers_backward(last):
    def backward(r, g):
        params, x = r
        h = affine_of_dict(params["first"], x)
        dh = g @ params["second"]["w"].T * jnp.cos(h)
        first = {"w": x.T @ dh, "b": jnp.sum(dh, 0)}
        return {"first": first, "second": {"w": jnp.sin(h).T @ g, "b": last(g)}}, dh @ params["first"]["w"].T

    return backward


def affine_backward(made, of=lambda p: p[0], summed=lambda g: jnp.sum(g, 0)):
    return lambda r, g: (made(r[1].T @ g, summed(g)), g @ of(r[0]).T)


def scaled_backward(scale):
    def backward(r, g):
        p, x = r
        h = g * p.scale
        inner = Affine(x.T @ h, jnp.sum(h, 0))
        return Scaled(inner, scale(g, p, x), jnp.sum(g, 0)), h @ p.inner.w.T

    return backward


def whitened_backward(made):
    def backward(r, g):
        (mean, var), x = r
        return made(-jnp.sum(g * var, 0), jnp.sum(g * (x - mean), 0)), g * var

    return backward


def step_backward(made):
    def backward(r, g):
        s, x = r
        c = s.c * x + s.bias
        dc = g.c + g.h * s.h * jnp.cos(c)
        return made(g.h * jnp.sin(c), dc * x), dc * s.c

    return backward


def gated_backward(factor):
    def backward(r, g):
        gate, x = r
        h = g * (1 - gated(gate, x) ** 2) * factor(gate)
        return Gate(x.T @ h, gate.sharpness), h @ gate.w.T

    return backward


def as_dict(w, b):
    return {"w": w, "b": b}


def as_tuple(w, b):
    return w, b


def by_key(p):
    return p["w"]


def first_whitened(mean, var):
    return Moments(mean, var)


def unsummed(g):
    return g


RIGHT = {
    "a named tuple": (custom(affine, affine_backward(Affine)), "Affine(w: n d, b: d), m n"),
    "with shapes": (custom(affine_typed, affine_backward(Typed)), "Typed(w: d m, b: m), n d"),
    "of which the code names the class": (custom(affine_of_any, affine_backward(Affine)), "Affine(w: n d, b: d), m n"),
    "fields that are methods of arrays": (
        custom(whitened, whitened_backward(Moments)),
        "Moments(mean: n, var: n), d n",
    ),
    "a dict": (custom(affine_of_dict, affine_backward(as_dict, by_key)), "{b: n, w: d n}, m d"),
    "through a helper": (custom(through_helper, affine_backward(as_dict, by_key)), "{b: n, w: d n}, m d"),
    "a pair": (custom(affine_of_pair, affine_backward(as_tuple)), "(n d, d), m n"),
    "a typed pair": (custom(affine_of_typed_pair, affine_backward(as_tuple)), "(n d, d), m n"),
    "a list": (custom(affine_of_pair, affine_backward(lambda w, b: [w, b])), "[n d, d], m n"),
    "layers": (
        custom(of_layers, layers_backward(lambda g: jnp.sum(g, 0))),
        "{first: {b: n, w: d n}, second: {b: m, w: n m}}, k d",
    ),
    "nested, with a number and what may be None": (
        custom(scaled, scaled_backward(lambda g, p, x: jnp.sum(g * affine(p.inner, x)))),
        "Scaled(inner: Affine(w: n d, b: d), scale: (), shift: d), m n",
    ),
    "a state": (custom(step, step_backward(State)), "State(h: n d, c: n d, bias=1.0), n d"),
    "a module of equinox": (
        custom(gated, gated_backward(lambda gate: gate.sharpness)),
        "Gate(w: n d, sharpness=2.0), m n",
    ),
}
WRONG = {
    "a pair of one shape swapped": custom(step, step_backward(lambda h, c: State(c, h))),
    "two of a named tuple swapped": custom(whitened, whitened_backward(lambda a, b: Moments(b, a))),
    "a sum over the other axis, in layers": custom(of_layers, layers_backward(lambda g: jnp.sum(g, 1))),
    "a mean for a sum, in a tuple": custom(affine_of_pair, affine_backward(as_tuple, summed=lambda g: jnp.mean(g, 0))),
    "a sum left out": custom(affine_typed, affine_backward(Typed, summed=unsummed)),
    "the cotangent of a number, by the output": custom(
        scaled, scaled_backward(lambda g, p, x: jnp.sum(g * affine(p.inner, x)) * p.scale)
    ),
    "a factor that is static": custom(gated, gated_backward(lambda gate: 1)),
    "a missing leaf": custom(affine_of_dict, affine_backward(lambda w, b: {"w": w}, by_key)),
    "a leaf under another name": custom(affine_of_dict, affine_backward(lambda w, b: {"w": w, "bias": b}, by_key)),
    "a tuple for a named tuple": custom(affine, affine_backward(as_tuple)),
}


def audited(made: Any):
    return examined(FoundRule("m:f", made), {}, conformance=False)[0]


def perhaps_affine(params: Affine | None, x):
    return x if params is None else affine(params, x)


@jax.custom_jvp
def forward_mode(params, x):
    w, b = params
    return x @ w + b


@forward_mode.defjvp
def _(primals, tangents):
    ((w, b), x), ((dw, db), dx) = primals, tangents
    return x @ w + b, dx @ w + x @ dw + db


def pair_of_equinox(slope):
    made = eqx.filter_custom_vjp(lambda params, y: params[0] @ params[1] + y)
    made.def_fwd(lambda perturbed, params, y: (made(params, y), None))
    made.def_bwd(lambda r, g, perturbed, params, y: (slope * g @ params[1].T, params[0].T @ g))
    return made


RIGHT |= {
    "a named tuple that may be None": (custom(perhaps_affine, affine_backward(Affine)), "Affine(w: n d, b: d), m n"),
    "a pair in forward mode": (forward_mode, "(n d, m d), m n"),
    "a pair of equinox": (pair_of_equinox(1), "(n d, d m), n m"),
}
WRONG |= {"a pair of equinox": pair_of_equinox(2)}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("case", RIGHT)
def test_a_right_rule_is_proved(case):
    made, signature = RIGHT[case]
    result = audited(made)
    assert result.certificate is not None, result.remarks
    assert result.certificate.verdict == "proved"
    assert result.inferred == f'"{signature}"'


@pytest.mark.one_in(6)
@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_rule_is_refuted(case):
    result = audited(WRONG[case])
    assert result.certificate is not None, result.remarks
    assert result.certificate.verdict == "refuted"


@pytest.mark.parametrize(
    ("case", "signature"),
    [("a missing leaf", "{b: n, w: d n}, m d"), ("a tuple for a named tuple", "Affine(w: n d, b: d), m n")],
)
def test_a_cotangent_of_another_structure_is_refuted(case, signature):
    """Where nothing is declared, all ranks are tried before: seconds."""
    assert check(WRONG[case], signature, conformance=False).verdict == "refuted"


def with_state(x, p: Plain):
    return x @ p.w


def test_a_class_that_is_no_container_is_named():
    (remark,) = audited(custom(with_state, lambda r, g: r)).remarks
    assert "p is of Plain, which JAX does not flatten into arrays" in remark.text


def test_what_is_no_container_by_any_evidence_is_not_tried():
    def value(x, table):
        return x * dict(table)["scale"]

    (remark,) = audited(custom(value, lambda r, g: r)).remarks
    assert "not audited" in remark.text


def test_a_class_that_an_annotation_names_is_in_the_key():
    def of(default):
        class Params(NamedTuple):
            w: jax.Array
            b: float = default

        class Outer(NamedTuple):
            inner: Params

        def value(params: Outer):
            return params

        return Identity([value], ["tests"]).digest

    assert of(1.0) == of(1.0) != of(2.0)


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("Affine(w: n d, b: d), m n", ""),
        ("Affine(w: n d, b: d), m n -> m d", ""),
        ("Nowhere(w: n d), m n", "'Nowhere' is no named tuple and no dataclass"),
        ("Affine(w: n d), m n", "Affine cannot hold texts in place of its arrays"),
        ("Affine(w: n d, b), m n", "'b' is no entry such as 'w: n d'"),
        ("Affine(w: n d, b: d, m n", "its brackets do not match"),
        ("Affine(w: n d, b: d, c=1), m n", "Affine cannot hold texts in place of its arrays"),
        ("Affine(w: n d, b=f(x)), m n", "'f(x)' is no literal"),
    ],
)
def test_a_signature_names_a_class(signature, said):
    if said:
        with pytest.raises(SignatureError, match=re.escape(said)):
            check(RIGHT["a named tuple"][0], signature)
    else:
        assert check(RIGHT["a named tuple"][0], signature, conformance=False).verdict == "proved"


MODULE = """
from typing import NamedTuple


class Params(NamedTuple):
    w: jax.Array
    b: jax.Array


def value(params: Params, x):
    return x @ params.w + params.b


def of_pair(params, x):
    w, b = params
    return x @ w + b


rule = jax.custom_vjp(value)
rule.defvjp(lambda p, x: (value(p, x), (p, x)), lambda r, g: (Params(r[1].T @ g, g), g @ r[0].w.T))
pair = jax.custom_vjp(of_pair)
pair.defvjp(lambda p, x: (of_pair(p, x), (p, x)), lambda r, g: ((r[1].T @ g, g), g @ r[0][0].T))


def of_dict(params, x):
    return x @ params["w"] + params["b"]


by_key = jax.custom_vjp(of_dict)
by_key.defvjp(lambda p, x: (of_dict(p, x), (p, x)), lambda r, g: ({"w": r[1].T @ g, "b": g}, g @ r[0]["w"].T))
"""


@pytest.mark.parametrize(
    ("name", "call", "called"),
    [
        ("rule", "rule(Params(jnp.ones((3, 2)), jnp.ones(2)), x)", "Params(w: n d, b: d), m n"),
        ("rule", "p = Params(b=jnp.ones(2), w=jnp.ones((3, 2)))\nrule(p._replace(w=p.w), x)", ""),
        ("rule", "p = Params(b=jnp.ones(2), w=jnp.ones((3, 2)))\nrule(p, x)", "Params(w: n d, b: d), m n"),
        ("pair", "w, b = jnp.ones((3, 2)), jnp.ones(2)\npair((w, b), x)", "(n d, d), m n"),
        ("by_key", "p = {'b': jnp.ones(2), 'w': jnp.ones((3, 2))}\nby_key(p, x)", "{b: n, w: d n}, m d"),
    ],
)
@pytest.mark.one_in(2)
def test_calls_say_the_ranks_of_arrays_in_containers(project, name, call, called):  # noqa: F811
    module = MODULE + "def use(x=jnp.ones((5, 3))):\n" + textwrap.indent(call, "    ")
    result, _ = examined(project(module)[name], {}, conformance=False)
    text = f'with "{called}", as use in' if called else "the function also runs with"
    assert text in result.remarks[0].text


def test_fields_that_are_no_arrays_are_said_and_stand_at_their_values():
    right = RIGHT["a module of equinox"][0]
    assert check(right, "Gate(w: n d, sharpness=3.0), m n", conformance=False).verdict == "proved"
    wrong = custom(gated, gated_backward(lambda gate: 2.0))
    verdicts = [check(wrong, f"Gate(w: n d, sharpness={v}), m n", conformance=False).verdict for v in (2.0, 3.0)]
    assert verdicts == ["proved", "refuted"]
