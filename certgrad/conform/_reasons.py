"""Why an op is further than the limit from the exact value at ordinary arguments, where moving the arguments by half a
unit does not do as much; or why it is NaN inside its domain."""

from __future__ import annotations

from certgrad.ops import Op
from certgrad.ops._composed import Composed

_COMPOSED = (
    "it is composed of ops that are measured by themselves: what each rounds is an argument of the next, and counts as "
    "much as moving that"
)
_SOFTMAX = (
    "where a probability is near 1, p·(dx − Σ p·dx) subtracts numbers that are nearly equal, as the rules of JAX and "
    "PyTorch do; the error is small beside the seed"
)
_ATTENTION = (
    f"{_SOFTMAX}. With scores beyond 10¹², XLA on a CPU fuses their product into the maximum and into the exponential, "
    "rounds it in two ways, and exp overflows: of plain JAX code too"
)
_SATURATED = (
    "its rule reads 1 − h² from the saved h, as that of JAX's tanh does: near saturation h does not have the digits; "
    "the error is small beside the seed"
)
_GAMMA = (
    "XLA's lgamma, digamma and their like are that far from the exact value; a rule that uses them can be no better"
)

_OVERFLOW = (
    "products or squares of arguments beyond 10¹⁹ overflow on the way, and infinities of both signs, or in a quotient, "
    "meet: so they do in the usual code for it. To divide by the largest entry first would avoid it, at the price of a "
    "proof that holds only where no entry is 0 or two are equal in size"
)

REASONS: dict[str, str] = {
    "multi_head_attention": _ATTENTION,
    "residual_attention": _ATTENTION,
    "flash_attention": _SOFTMAX,
    "softmax_with_temperature": _SOFTMAX,
    "gumbel_softmax": _SOFTMAX,
    "elman_cell": _SATURATED,
    "elman": _SATURATED,
    "gru_cell": _SATURATED,
    "lstm_cell": _SATURATED,
    "cosine_similarity_loss": (
        "its derivative is what is orthogonal to each vector: where two are nearly parallel, the subtraction of the "
        f"parallel part leaves few digits. And {_OVERFLOW}"
    ),
    "focal": (
        "targets of 10¹⁹ are no probabilities; their squares overflow, and infinities of both signs meet. From 0 to 1 "
        "nothing does"
    ),
    "cumprod": "a product that overflows meets a factor or a tangent of 0 in the sum over entries",
    **dict.fromkeys(
        "triplet_margin jaccard tversky info_nce bilinear quadratic_form multi_dot selective_scan".split(),
        _OVERFLOW,
    ),
    "weight_norm": (
        "the squares of numbers below 10⁻¹⁹ underflow, and the norm by which it divides is 0. To divide by the largest "
        "entry first would avoid it, at the price of a proof that holds only where no entry is 0"
    ),
    "lgamma": _GAMMA,
    "digamma": _GAMMA,
    "gamma": f"exp of lgamma, whose error counts as often as lgamma is large. {_GAMMA}",
    "beta": f"exp of lgamma, whose error counts as often as lgamma is large. {_GAMMA}",
    "betaln": f"a difference of lgammas. {_GAMMA}",
    "polygamma": _GAMMA,
    "gammainc": _GAMMA,
    "gammaincc": _GAMMA,
}


def reason(op: Op) -> str:
    """The reason that is written down for an op; empty if there is none."""
    return _COMPOSED if isinstance(op, Composed) else REASONS.get(op.name, "")
