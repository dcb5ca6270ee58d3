"""The page on the laws, `docs/laws.md`: one row a law. `python -m certgrad.report.pages.laws` prints it."""

import re
from pathlib import Path

from certgrad.obligations.terms import law as _law
from certgrad.obligations.terms.law import Law
from certgrad.report.markdown import code, tabulated

_INTRODUCTION = """\
# The laws of the calculus

`python -m certgrad.report.pages.laws > docs/laws.md` writes this page. Do not edit it by hand.

What a proof may apply beside polynomial arithmetic over ℚ, the chain rule, and the meaning of primitives. A law without
a condition holds wherever both sides have a value; that a division, a root or a logarithm has one is a condition of the
program, recorded before any law is applied. A certificate lists the laws that its proofs applied on the way
(`rules_used`), and `certgrad explain OP` states them. Each is compared with what it says at drawn instances
(`tests/obligations/terms/test_law.py`), and noted where it is applied, in modules of `certgrad/obligations/`.
[From a verdict to the file](howto/law.md) says how to add one."""


def render() -> str:
    """The page."""
    where = applied_in()
    rows = ((law.title, code(law.statement), law.condition, ", ".join(map(code, where[law]))) for law in Law)
    return f"{_INTRODUCTION}\n\n{tabulated(('law', 'statement', 'if', 'in'), rows)}\n"


def applied_in() -> dict[Law, list[str]]:
    """The modules of `certgrad/obligations/` that apply each law."""
    root = Path(_law.__file__).parents[1]
    texts = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in sorted(root.rglob("*.py"))}
    return {law: [p for p, text in texts.items() if re.search(rf"\bLaw\.{law.name}\b", text)] for law in Law}


if __name__ == "__main__":
    print(render(), end="")
