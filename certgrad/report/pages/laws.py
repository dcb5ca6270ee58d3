"""The page on the laws, `docs/laws.md`: one row a law. `python -m certgrad.report.pages.laws` prints it."""

from certgrad.obligations.terms.law import Law
from certgrad.report.markdown import code, tabulated

_INTRODUCTION = """\
# The laws of the calculus

`python -m certgrad.report.pages.laws` writes this page. Do not edit it by hand.

What a proof may apply beside polynomial arithmetic over ℚ, the chain rule, and the meaning of primitives. A law without
a condition holds wherever both sides have a value; that a division, a root or a logarithm has one is a condition of the
program, recorded before any law is applied. A certificate lists the laws that its proofs applied on the way
(`rules_used`), and `certgrad explain OP` states them. Each is compared with what it says at drawn instances
(`tests/obligations/terms/test_law.py`), and where it is applied the code says `applied(Law.…)`."""


def render() -> str:
    """The page."""
    rows = ((law.title, code(law.statement), law.condition) for law in Law)
    return f"{_INTRODUCTION}\n\n{tabulated(('law', 'statement', 'if'), rows)}\n"


if __name__ == "__main__":
    print(render(), end="")
