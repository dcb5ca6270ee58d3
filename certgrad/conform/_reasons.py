"""Reasons why an op is further than the limit from the exact value at ordinary arguments, beyond its conditioning.

NaN has no reason here: an op states its magnitudes (`certgrad/ops/_magnitudes.py`).
"""

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
_SATURATED = (
    "its rule reads 1 − h² from the saved h, as that of JAX's tanh does: near saturation h does not have the digits; "
    "the error is small beside the seed"
)
_GAMMA = (
    "XLA's lgamma, digamma and their like are that far from the exact value; a rule that uses them can be no better"
)

REASONS: dict[str, str] = {
    "multi_head_attention": _SOFTMAX,
    "residual_attention": _SOFTMAX,
    "flash_attention": _SOFTMAX,
    "softmax_with_temperature": _SOFTMAX,
    "gumbel_softmax": _SOFTMAX,
    "elman_cell": _SATURATED,
    "elman": _SATURATED,
    "gru_cell": _SATURATED,
    "lstm_cell": _SATURATED,
    "cosine_similarity_loss": (
        "its derivative is what is orthogonal to each vector: where two are nearly parallel, the subtraction of the "
        "parallel part leaves few digits"
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
    """Return the reason that is written down for an op; "" if there is none."""
    return _COMPOSED if isinstance(op, Composed) else REASONS.get(op.name, "")
