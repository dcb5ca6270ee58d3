"""Rules whose functions read entries by their numbers: sizes that have these are looked at."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.rules.certificates.verify import verify_rule
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.read_entries import read_entries, with_read_entries
from certgrad.rules.judging.by_name import examined
from certgrad.rules.subject.user_rule import UserRule

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def unit(r):
    return r / jnp.linalg.norm(r, axis=-1, keepdims=True)


@jax.custom_jvp
def xy(r):
    n = unit(r)
    return n[..., 0] * n[..., 1]


@xy.defjvp
def _(primals, tangents):
    (r,), (dr,) = primals, tangents
    n = unit(r)
    dn = (dr - n * jnp.sum(n * dr, -1, keepdims=True)) / jnp.linalg.norm(r, axis=-1, keepdims=True)
    return xy(r), dn[..., 0] * n[..., 1] + n[..., 0] * dn[..., 1]


@pytest.mark.parametrize(
    ("function", "signature", "read"),
    [
        (lambda x: x[..., 2] * x[..., 0], "n d", {"d": 2}),
        (lambda x: jnp.sum(x[1]) * x[..., 0], "n d", {"n": 1, "d": 0}),
        (lambda x, y: jax.jit(lambda a, b: a[3] + b)(x, y[:, 1]), "n, m d", {"n": 3, "d": 1}),
        (lambda x: x[..., -1] + x[..., 0], "n d", {"d": 0}),
        (lambda x: jnp.sum(x), "n d", {}),
        (lambda x, i: x[i] * x[1], "n, ():int", {"n": 1}),
        (lambda x: x[..., 1], "n 3", {}),
    ],
)
def test_the_last_entry_that_is_read_is_found(function, signature, read):
    assert read_entries(UserRule(function, signature)) == read


@pytest.mark.parametrize(
    ("function", "signature", "larger"),
    [
        (lambda x, y: x[..., 1] * y[..., 2], "n d, n d", "n d+2, n d+2"),
        (lambda x, y, i: x[..., 1] * y + i, "n d, (), ():int", "n d+1, (), ():int"),
        (lambda x, y: x[..., 0] * y, "n d, n", None),
        (lambda x: x[..., 1], "n d -> n", None),
        (lambda x: x[..., 1], "*s d", None),
        (lambda p: p["x"][..., 1], "{x: n d}", None),
        (lambda x: x[..., 99], "n d", None),
    ],
)
def test_sizes_are_as_large_as_that(function, signature, larger):
    declared = Declaration(signature, origin="inferred")
    found = with_read_entries(UserRule(function, signature), declared)
    assert (found.signature if found is not None else None) == larger


def test_what_is_proved_where_there_are_such_entries_says_so_and_is_verified():
    found = FoundRule("m:xy", xy, where="m.py:1")
    result, _ = examined(found, {})
    assert result.certificate is not None
    assert result.certificate.verdict == "proved under hypotheses"
    assert result.inferred == '"n d+1"'
    assert 'its shapes are inferred ("n d+1")' in result.remarks[0].text
    assert certgrad.check(xy, "n d").verdict == "proved at sizes", "which no sizes left open are"
    assert verify_rule(result.certificate, found).outcome == "verified"


def test_a_wrong_rule_that_reads_entries_is_refuted():
    wrong = jax.custom_jvp(lambda r: unit(r)[..., 0] * unit(r)[..., 1])
    wrong.defjvp(lambda p, t: (wrong(*p), t[0][..., 0] * unit(p[0])[..., 1]))
    result, _ = examined(FoundRule("m:wrong", wrong, where="m.py:1"), {})
    assert result.certificate is not None
    assert result.certificate.verdict == "refuted"
