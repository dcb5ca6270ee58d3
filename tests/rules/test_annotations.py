"""jaxtyping annotations say the shapes of a rule, where they spell a signature and nothing else says it."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import RECORDED_ORIGIN, examined


def rule(x, w):
    @functools.partial(jax.custom_vjp)
    def scaled(x, w):
        return x * w

    scaled.__wrapped__.__annotations__ = {"x": x, "w": w, "return": x}
    scaled.defvjp(lambda x, w: (x * w, (x, w)), lambda res, g: (g * res[1], jnp.sum(g * res[0]).reshape(res[1].shape)))
    return scaled


SPELT = rule(Float[Array, "n d"], Float[Array, ""])
OPEN = rule(Float[Array, "..."], Float[Array, ""])
NOTED = Declaration("n, ", origin=RECORDED_ORIGIN)


def signature(found, *declarations):
    result, report = examined(FoundRule("m:scaled", found), {"m:scaled": declarations}, conformance=False)
    assert report is not None, result.remarks
    assert report.verdict == "proved"
    return report.certificate.signature


def test_annotations_count_before_what_was_recorded() -> None:
    assert signature(SPELT) == signature(SPELT, NOTED) == ["n d,  -> n d"]


def test_what_is_declared_by_name_counts_before_annotations() -> None:
    assert signature(SPELT, Declaration("n, ")) == ["n,  -> "]


def test_annotations_that_spell_no_signature_say_nothing() -> None:
    assert signature(OPEN, NOTED) == signature(OPEN, Declaration("n, ")) == ["n,  -> "]
