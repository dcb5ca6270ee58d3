"""What a proof at one family of shapes may say about another: elementwise forms, and star groups without axes."""

import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations import audit
from certgrad.obligations.auditing import attempts as _attempts
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.generality.pointwise import Pointwise
from certgrad.obligations.generality.ranks import SplitGroupError, collapsed
from certgrad.obligations.prove.problem import trace_rules
from certgrad.ops import registry
from certgrad.ops._declare import axis_of, case
from certgrad.signatures.sizes import parse_size
from tests.obligations.traps import declare, hypotheses


def summed(g, x):
    g = jnp.sum(g, axis=tuple(range(g.ndim - x.ndim)))
    return jnp.sum(g, axis=tuple(k for k in range(x.ndim) if g.shape[k] != x.shape[k]), keepdims=True)


def product(back=summed, forward=lambda x, y: x * y):
    return declare(
        "*s, *s -> *s",
        forward,
        lambda x, y, dx, dy: dx * y + x * dy,
        lambda x, y, g: (back(g * y, x), back(g * x, y)),
        broadcast=True,
    )


def scalars(op, *inputs, pointwise=None, dtypes=None):
    inputs = tuple(tuple(map(parse_size, shape)) for shape in inputs)
    instance = Instance(inputs, dtypes or ("float",) * len(inputs), {})
    shapes = instance.shapes()
    programs = trace_rules(op.rules({}), shapes, 0, "the trap")
    return (pointwise or Pointwise()).scalars(programs, shapes)


FORMS = [(("n",), ("n",)), ((), ()), (("n",), ("1",)), (("n",), ()), (("m",), ("n", "m")), (("n", "1"), ("1", "m"))]


def test_every_form_of_an_elementwise_rule_is_the_same_scalar_program():
    pointwise = Pointwise()
    found = {scalars(product(), *form, pointwise=pointwise).programs for form in FORMS}
    assert len(found) == 1
    other = product(forward=lambda x, y: y * x)
    assert scalars(other, *FORMS[0], pointwise=pointwise).programs not in found


def test_axes_go_by_their_dimensions_not_by_their_places():
    """x_i·y_j and x_i·y_i are one scalar program, each with its own sums."""
    outer = declare(
        "n, m -> n m",
        lambda x, y: x[:, None] * y[None, :],
        lambda x, y, dx, dy: dx[:, None] * y[None, :] + x[:, None] * dy[None, :],
        lambda x, y, g: (jnp.sum(g * y[None, :], axis=1), jnp.sum(g * x[:, None], axis=0)),
    )
    pointwise = Pointwise()
    assert scalars(outer, ("n",), ("m",), pointwise=pointwise) == scalars(product(), *FORMS[0], pointwise=pointwise)
    assert scalars(outer, ("n",), ("n",)) is None, "two axes of one name are not told apart"


@pytest.mark.parametrize(
    "back",
    [
        lambda g, x: summed(g, x) / max(1, g.ndim - x.ndim + 1),
        lambda g, x: summed(g, x) + summed(g, x),
        lambda g, x: summed(g, x) * 1.0,
        lambda g, x: jnp.mean(g) * jnp.ones(x.shape),
        lambda g, x: jnp.cumsum(g, 0).sum() * jnp.ones(x.shape) if g.ndim else g,
        lambda g, x: jnp.broadcast_to(jnp.sum(g), x.shape),
    ],
    ids=["a factor", "two sums", "a factor of one", "a mean", "a running sum", "too large a sum"],
)
@pytest.mark.one_in(2)
def test_a_cotangent_that_is_no_plain_sum_is_not_covered(back):
    pointwise = Pointwise()
    right = scalars(product(), *FORMS[0], pointwise=pointwise)
    for form in FORMS[2:]:
        assert scalars(product(back), *form, pointwise=pointwise) in (None, right)
    assert any(scalars(product(back), *form, pointwise=pointwise) is None for form in FORMS[2:])


@pytest.mark.parametrize(
    "forward",
    [
        lambda x, y: jnp.sum(x) * y,
        lambda x, y: x[::-1] * y if x.ndim else x * y,
        lambda x, y: jnp.arange(1.0, 2.0)[0] * x * y + lax.broadcasted_iota(float, y.shape, 0) if y.ndim else x * y,
        lambda x, y: jnp.asarray(y.size, float) * x,
        lambda x, y: jnp.where(jnp.max(x) > 0, x, y),
    ],
    ids=["a sum", "reversed", "positions", "a size", "a maximum"],
)
def test_a_program_that_looks_at_other_entries_is_not_covered(forward):
    assert scalars(product(forward=forward), ("n",), ("n",)) is None


def proofs(monkeypatch, op):
    count = []
    prove = _attempts.prove
    monkeypatch.setattr(_attempts, "prove", lambda problem, kind: count.append(kind) or prove(problem, kind))
    certificate = audit(op)
    return certificate, len(count)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["copysign", "fmod", "gammainc"])
def test_a_cotangent_of_zeros_and_special_functions_are_covered_too(name, monkeypatch):
    assert proofs(monkeypatch, registry.get(name))[1] == 3


def test_an_elementwise_op_is_proved_once(monkeypatch):
    certificate, count = proofs(monkeypatch, registry.get("pow"))
    assert count == 3
    assert hypotheses(certificate) == {"x > 0"}
    assert {h.prose for c in certificate.claims for h in c.hypotheses} == {"at every entry, x is greater than 0"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g, x: summed(g, x) * (2 if x.ndim < g.ndim else 1),
        lambda g, x: summed(g, x) * (2 if x.ndim == 0 else 1),
        lambda g, x: jnp.mean(g, axis=tuple(range(g.ndim - x.ndim))) if x.ndim < g.ndim else summed(g, x),
        lambda g, x: summed(g, x) if g.ndim < 2 or x.ndim == 2 else summed(jnp.abs(g), x),
        lambda g, x: jnp.zeros(x.shape) if x.ndim < g.ndim else summed(g, x),
    ],
    ids=["an absent axis", "scalars", "a mean over an absent axis", "two axes", "zeros for an absent axis"],
)
@pytest.mark.one_in(2)
def test_a_rule_that_is_wrong_at_one_form_is_not_covered(wrong, monkeypatch):
    certificate, _ = proofs(monkeypatch, product(wrong))
    assert certificate.verdict == "refuted"


def test_a_proof_that_fails_covers_nothing():
    certificate = audit(product(lambda g, x: 2 * summed(g, x)))
    assert certificate.verdict == "refuted"


CENTRED = case("*a n *c -> *a n *c", axis=axis_of("n"))


def centred(forward):
    return declare(
        CENTRED, forward, lambda x, dx, *, axis: forward(dx, axis=axis), lambda x, g, *, axis: forward(g, axis=axis)
    )


def texts(op, gone):
    """The general program without these groups, and the one that has no axes in their place."""
    prove = family(op, op.cases[0]).prove
    general = prove[0]
    other = next(i for i in prove if {g for g, axes in i.groups.items() if not axes} == gone)
    for instance in (general, other):
        programs = trace_rules(op.rules(instance.statics), instance.shapes(), 0, "the trap")
        yield collapsed(programs.all(), instance.groups, gone)


def first_rows(x, axis):
    """A gather, a dynamic slice and its transpose, a slice, a pad, a reversal, a running sum and a sort of one axis."""
    rows = jnp.take(jnp.flip(x, axis), jnp.arange(2) % 2, axis=axis)
    part = lax.dynamic_slice_in_dim(x, jnp.argmax(jnp.zeros(2)), 1, axis)
    lines = jnp.take_along_axis(x, jnp.argsort(x, axis=axis), axis=axis)
    padded = jnp.cumsum(jnp.concatenate([rows, part, lines], axis), axis=axis)
    moved = lax.dynamic_update_slice_in_dim(padded, part, 1, axis)
    return lax.slice_in_dim(moved, 0, x.shape[axis], axis=axis)


def along(x, axis, step):
    """A scan along one axis."""
    rows = jnp.moveaxis(x, axis, 0)
    start = jnp.zeros(rows.shape[1:], rows.dtype)
    return jnp.moveaxis(lax.scan(lambda c, row: (step(c, row),) * 2, start, rows)[1], 0, axis)


@pytest.mark.parametrize("forward", [first_rows, lambda x, axis: along(x, axis, lambda c, row: c * row + jnp.sin(row))])
def test_a_program_that_looks_along_one_axis_leaves_the_groups_whole(forward):
    op = centred(lambda x, *, axis: forward(x, axis))
    instances = family(op, op.cases[0])
    general, *others = instances.prove[:1], *instances.compare
    written = [
        collapsed(trace_rules(op.rules(i.statics), i.shapes(), 0, "it").all(), i.groups)
        for i in (*general, *others)
        if all(i.groups.values())
    ]
    assert len(written) == 5
    assert all(text == written[0] for text in written)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x, *, axis: jnp.take(x, jnp.zeros(x.shape[axis - 1], int), axis=axis - 1) if axis else x,
        lambda x, *, axis: jnp.flip(x, axis - 1) if axis else x,
        lambda x, *, axis: jnp.pad(x[:-1], [(1, 0), *[(0, 0)] * (x.ndim - 1)]) if axis else x,
        lambda x, *, axis: lax.dynamic_update_slice_in_dim(x, x[:1], 0, 0) if axis else x,
        lambda x, *, axis: jnp.take_along_axis(x, jnp.argsort(x, axis=0), axis=0) if axis else x,
        lambda x, *, axis: along(x, 0, jnp.add) if axis else x,
        lambda x, *, axis: along(x, axis, lambda c, row: c + jnp.flip(row, 0)) if axis else x,
    ],
    ids=["gather", "rev", "pad", "dynamic_update_slice", "sort", "scan", "inside a scan"],
)
def test_part_of_a_group_is_seen(forward):
    op = centred(forward)
    other = next(i for i in family(op, op.cases[0]).compare if len(i.groups["a"]) == 2)
    with pytest.raises(SplitGroupError):
        collapsed(trace_rules(op.rules(other.statics), other.shapes(), 0, "it").all(), other.groups)


@pytest.mark.parametrize(
    "forward, gone",
    [
        *((lambda x, *, axis: x - jnp.mean(x, axis=axis, keepdims=True), g) for g in ({"a"}, {"c"}, {"a", "c"})),
        (lambda x, *, axis: along(x, axis, lambda c, row: c * row + jnp.sin(row)), {"c"}),
    ],
)
def test_a_group_without_axes_is_one_of_size_one(forward, gone):
    general, other = texts(centred(forward), gone)
    assert general == other


def test_a_group_that_is_used_otherwise_does_not_go():
    for forward in (
        lambda x, *, axis: x * x.size,
        lambda x, *, axis: x * lax.broadcasted_iota(float, x.shape, axis + 1) if x.ndim > axis + 1 else x,
        lambda x, *, axis: jnp.concatenate([x, x], axis + 1)[..., : x.shape[-1]] if x.ndim > axis + 1 else x,
        lambda x, *, axis: jnp.cumsum(x, axis=axis + 1) if x.ndim > axis + 1 else x,
        lambda x, *, axis: jnp.flip(x, axis + 1) if x.ndim > axis + 1 else x,
        lambda x, *, axis: jnp.sort(x, axis + 1) if x.ndim > axis + 1 else x,
    ):
        with pytest.raises(SplitGroupError):
            next(texts(centred(forward), {"c"}))


def test_a_rule_that_is_wrong_without_the_other_axes(monkeypatch):
    right = centred(lambda x, *, axis: x - jnp.mean(x, axis=axis, keepdims=True))
    certificate, count = proofs(monkeypatch, right)
    assert certificate.verdict == "proved"
    assert count == 3
    wrong = right.with_rules(
        vjp=lambda x, g, *, axis: (g - jnp.mean(g, axis=axis, keepdims=True)) * (1 if g.ndim > 1 else 2)
    )
    certificate, count = proofs(monkeypatch, wrong)
    assert certificate.verdict == "refuted"
