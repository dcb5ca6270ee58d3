"""Rules with integers: narrow types and their wrapping, bits, counts, labels that a domain names."""

import jax
import jax.numpy as jnp
import pytest
from jax.scipy.special import logsumexp

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def made(forward, bwd):
    """A rule that keeps its arguments."""
    f = jax.custom_vjp(forward)
    f.defvjp(lambda *xs: (forward(*xs), xs), bwd)
    return f


def scaled(cast):
    """Integers times a scale; the rule takes them through `cast`."""
    return made(
        lambda q, s: q.astype(s.dtype) * s,
        lambda saved, g: (None, jnp.sum(g * cast(saved[0]).astype(saved[1].dtype))),
    )


BYTE = ["q >= -128", "q <= 127"]


def test_a_narrow_cast_is_the_identity_in_its_range():
    assert certgrad.check(scaled(lambda q: q.astype(jnp.int8)), "n:int, ", domain=BYTE).proved
    assert certgrad.check(scaled(lambda q: q.astype(jnp.uint8)), "n:int, ", domain=["q >= 0", "q < 256"]).proved


@pytest.mark.parametrize(
    ("cast", "domain"),
    [
        (lambda q: q.astype(jnp.int8), ()),
        (lambda q: q.astype(jnp.int8), ["q >= -128", "q <= 128"]),
        (lambda q: q.astype(jnp.uint8), BYTE),
        (lambda q: q.astype(jnp.int8).astype(jnp.uint8), BYTE),
        (lambda q: q.astype(jnp.int8) * jnp.int8(1), ["q >= -129", "q <= 127"]),
    ],
)
@pytest.mark.one_in(2)
def test_a_narrow_cast_wraps_outside_of_it(cast, domain):
    assert certgrad.check(scaled(cast), "n:int, ", domain=domain).verdict == "refuted"


def test_arithmetic_of_a_narrow_type_is_not_read_as_exact():
    """200 + 100 is 44 in eight bits: whatever is said of it, it is not said that the rule is right."""

    def doubled(q):
        byte = q.astype(jnp.uint8)
        return (byte + byte).astype(jnp.int32) // 2

    found = certgrad.check(scaled(doubled), "n:int, ", domain=["q >= 0", "q < 256"])
    assert found.verdict == "refuted"


def test_a_real_number_has_to_be_in_the_range_of_a_narrow_type():
    def quantised(low, high):
        def levels(x):
            return jnp.clip(jnp.round(x), low, high).astype(jnp.int8).astype(x.dtype)

        return made(lambda x, s: s * levels(x), lambda r, g: (0 * r[0], jnp.sum(g * levels(r[0]))))

    inside = certgrad.check(quantised(-128, 127), "n, ")
    assert inside.hypotheses == ["x − 1/2 is not an integer"]
    beyond = certgrad.check(quantised(-200, 200), "n, ")
    assert set(beyond.hypotheses) == {
        "round_even(x) < 128 wherever round_even(x) < 200 and round_even(x) ≥ −200",
        "round_even(x) > −129 wherever round_even(x) < 200 and round_even(x) ≥ −200",
        "round_even(x) ≥ −200",
        "round_even(x) < −200 or round_even(x) < 200",
        "x − 1/2 is not an integer",
    }


def nibbles(size):
    """Two numbers of four bits in a byte."""
    return made(
        lambda q, s: s * ((q >> 4) * (q & 15)).astype(s.dtype),
        lambda r, g: (None, jnp.sum(g * ((r[0] // size) * (r[0] % size)).astype(g.dtype))),
    )


def test_bits_are_quotients_and_remainders():
    domain = ["q >= 0", "q <= 255"]
    assert certgrad.check(nibbles(16), "n:int, -> n", domain=domain).proved
    assert certgrad.check(nibbles(8), "n:int, -> n", domain=domain).verdict == "refuted"


def mean_of_counted(count):
    """The mean of the entries whose label is not negative; 0 if there is none."""

    def forward(x, y):
        keep = y >= 0
        return jnp.sum(x * x * keep) / jnp.maximum(jnp.sum(keep), 1)

    return made(forward, lambda r, g: (2 * g * r[0] * (r[1] >= 0) / count(r[1] >= 0), None))


def test_a_count_is_a_number_like_any_other():
    right = certgrad.check(mean_of_counted(lambda keep: jnp.maximum(keep.sum(), 1)), "n, n:int ->")
    assert right.verdict == "proved"
    assert certgrad.check(mean_of_counted(lambda keep: jnp.where(keep.sum() > 1, keep.sum(), 1)), "n, n:int ->").proved
    assert certgrad.check(mean_of_counted(lambda keep: keep.shape[0]), "n, n:int ->").verdict == "refuted"


@pytest.mark.slow  # a cause is looked for, and is not found
def test_a_count_that_may_be_0_is_no_divisor():
    """Where nothing counts the rule returns NaN, and the derivative is 0."""
    found = certgrad.check(mean_of_counted(lambda keep: keep.sum()), "n, n:int ->")
    assert found.verdict == "refuted" or found.hypotheses


def gate(slope):
    """Open where at least two entries are positive: it jumps where an entry changes its sign."""
    return made(
        lambda x: x * (jnp.sum(x > 0) >= 2),
        lambda r, g: (g * slope(jnp.sum(r[0] > 0)),),
    )


def test_a_count_jumps_where_an_entry_does():
    right = certgrad.check(gate(lambda n: n > 1), "n")
    assert right.verdict == "proved under hypotheses"
    assert any("0" in text for text in right.hypotheses)
    assert certgrad.check(gate(lambda n: n > 0), "n").verdict == "refuted"


# a domain that is a disjunction

IGNORED = "y >= 0 or y == -100"


def cross_entropy(keeps):
    def forward(logits, y):
        picked = jnp.sum(jax.nn.one_hot(y, logits.shape[1]) * logits, -1)
        return jnp.where(y == -100, 0.0, logsumexp(logits, -1) - picked)

    def bwd(r, g):
        d = jax.nn.softmax(r[0], -1) - jax.nn.one_hot(r[1], r[0].shape[1])
        return jnp.where(keeps(r[1]), g, 0.0)[:, None] * d, None

    return made(forward, bwd)


@pytest.mark.slow
def test_masks_that_are_equal_in_the_domain():
    assert certgrad.check(cross_entropy(lambda y: y >= 0), "n c, n:int", domain=IGNORED).proved
    assert certgrad.check(cross_entropy(lambda y: y > -7), "n c, n:int", domain=IGNORED).proved


def square(keeps):
    return made(
        lambda x, y: jnp.sum(jnp.where(y != -100, (x - y) ** 2, 0.0)),
        lambda r, g: (2 * g * jnp.where(keeps(*r), r[0] - r[1], 0.0), None),
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("keeps", "domain"),
    [
        (lambda x, y: y > 0, IGNORED),
        (lambda x, y: y >= -100, IGNORED),
        (lambda x, y: y >= 0, "y >= -1 or y == -100"),
        (lambda x, y: y >= 0, "y >= 0 or y <= -100"),
        (lambda x, y: y >= 0, "y >= 0 or x > 0"),
        (lambda x, y: y >= 0, ()),
    ],
)
def test_masks_that_are_not(keeps, domain):
    assert certgrad.check(square(keeps), "n, n:int ->", domain=domain).verdict == "refuted"


@pytest.mark.slow
def test_a_disjunction_of_real_numbers():
    def f(x):
        return jnp.where(x > 0, x * x, -x)

    def slope(bound):
        return made(f, lambda r, g: (jnp.where(r[0] > bound, 2 * r[0] * g, -g),))

    apart = "x > 1 or x < -1"
    assert certgrad.check(slope(1), "*s", domain=apart).proved
    assert certgrad.check(slope(-0.5), "*s", domain=apart).proved
    assert certgrad.check(slope(2), "*s", domain=apart).verdict == "refuted"
    assert certgrad.check(slope(-2), "*s", domain=apart).verdict == "refuted"
    assert not certgrad.check(slope(-0.5), "*s", domain="x > -1/4 or x < -1").proved


# piecewise


def smoothstep(upper):
    def f(x):
        return jnp.piecewise(x, [x <= 0, x >= 1], [0.0, 1.0, lambda x: x * x * (3 - 2 * x)])

    return made(f, lambda r, g: (jnp.where((r[0] > 0) & upper(r[0]), 6 * g * r[0] * (1 - r[0]), 0.0),))


@pytest.mark.slow
def test_piecewise():
    assert certgrad.check(smoothstep(lambda x: x < 1), "n").verdict == "proved"
    assert certgrad.check(smoothstep(lambda x: x < 2), "n").verdict == "refuted"


def overlapping(last):
    """Where several conditions hold, the last one counts."""

    def f(x):
        return jnp.piecewise(x, [x <= 2, x <= 1], [lambda x: x, lambda x: x * x, 0.0])

    return made(f, lambda r, g: (g * jnp.where(r[0] > 2, 0.0, jnp.where(last(r[0]), 2 * r[0], 1.0)),))


def test_of_overlapping_pieces_the_last_counts():
    right = certgrad.check(overlapping(lambda x: x <= 1), "n")
    assert right.verdict == "proved under hypotheses"
    assert right.hypotheses == ["x ≠ 1", "x ≠ 2"]
    assert certgrad.check(overlapping(lambda x: x > 2), "n").verdict == "refuted"
