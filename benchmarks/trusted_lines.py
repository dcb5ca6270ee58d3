"""How many lines a `proved` rests on, by package: everything that auditing a rule imports, and what of it can only hurt
a refutation, a print or a second check.

Lines of code: neither blank nor comment nor docstring. Run from anywhere:
`python benchmarks/trusted_lines.py [--write]`;
`--write` puts the table into docs/trust.md.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
KERNEL = ROOT / "certgrad" / "obligations"
PAGE = ROOT / "docs" / "trust.md"
MARKS = "<!-- trusted lines: begin -->", "<!-- trusted lines: end -->"

FLOORS = {
    "terms": "a wrong normal form",
    "tracing": "another program than the one that runs",
    "assume": "a condition discharged that does not hold",
    "laws": "a wrong law",
    "decide": "a term that counts as zero and is not",
    "differentiate": "a wrong derivative, a seam forgotten",
    "meaning": "a primitive that means something else",
    "prove": "an obligation that is not the claim",
    "generality": "shapes or dtypes that nothing was shown of",
    "auditing": "a verdict or hypothesis lost on the way",
    "wording": "a hypothesis that reads as another one",
    "../_pallas": "a Pallas kernel that means something else",
    "../_devices": "a map over devices that means something else",
    "../_complex": "complex numbers that mean something else",
}
"""What stands between a rule and a wrong `proved`, with what an error there would be."""
OUTSIDE = {
    "balls": "refutations, and points that satisfy hypotheses",
    "verify": "the second check",
    "conformance": "what happens, compared with what was traced",
    "cache": "verdicts remembered (`--no-cache` does without)",
}


def code_lines(path: Path) -> int:
    """Lines that hold code: neither blank nor comment nor docstring."""
    text = path.read_text()
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docs |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept: set[int] = set()
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            kept |= set(range(token.start[0], token.end[0] + 1))
    return len(kept - docs)


def counted(folder: Path) -> tuple[int, int, int]:
    """Modules, all lines, lines of code."""
    files = sorted(folder.rglob("*.py"))
    return len(files), sum(len(f.read_text().splitlines()) for f in files), sum(map(code_lines, files))


def table() -> str:
    """The table as Markdown."""
    lines = ["| package of `certgrad/obligations/` | modules | lines | of code | an error there would be |"]
    lines.append("| --- | ---: | ---: | ---: | --- |")
    total: Counter[int] = Counter()
    for name, error in FLOORS.items():
        numbers = counted(KERNEL / name)
        total.update(dict(enumerate(numbers)))
        lines.append(f"| `{name}/` | {' | '.join(f'{n:,}' for n in numbers)} | {error} |")
    lines.append(f"| **what a `proved` rests on** | {' | '.join(f'**{total[k]:,}**' for k in range(3))} | |")
    for name, use in OUTSIDE.items():
        lines.append(f"| `{name}/` | {' | '.join(f'{n:,}' for n in counted(KERNEL / name))} | not trusted: {use} |")
    missing = {p.name for p in KERNEL.iterdir() if p.is_dir() and any(p.glob("*.py"))} - FLOORS.keys() - OUTSIDE.keys()
    if missing:
        raise SystemExit(f"no word on what rests on {', '.join(sorted(missing))}: add it to FLOORS or OUTSIDE")
    return "\n".join(lines)


def main() -> None:
    found = table()
    print(found)
    if "--write" in sys.argv[1:]:
        begin, end = MARKS
        page = PAGE.read_text()
        block = f"{begin}\n{found}\n{end}"
        PAGE.write_text(re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: block, page, flags=re.DOTALL))


if __name__ == "__main__":
    main()
