"""How many lines a `proved` rests on, by package: everything that auditing a rule imports, and what of it can only hurt
a refutation, a print or a second check; and how many an `accepted by Coq`: the specification and the printer whole, and
each file of which a function runs when a user's rule is printed.

Lines of code: neither blank nor comment nor docstring. Run from anywhere:
`python benchmarks/trusted_lines.py [--write]`;
`--write` puts the table into docs/trust.md.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
KERNEL = ROOT / "certgrad" / "obligations"
PAGE = ROOT / "docs" / "trust.md"
PACKAGE = ROOT / "certgrad"
MARKS = "trusted lines", "lines beside Coq"
"""Comments around the tables in the page."""

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
    "../jaxpr/pallas": "a Pallas kernel that means something else",
    "../jaxpr/devices": "a map over devices that means something else",
    "../jaxpr/complex_numbers": "complex numbers that mean something else",
}
"""What stands between a rule and a wrong `proved`, with what an error there would be."""
OUTSIDE = {
    "balls": "refutations, and points that satisfy hypotheses",
    "../numbers": "enclosures of roots and factors",
    "verify": "the second check",
    "conformance": "what happens, compared with what was traced",
    "cache": "verdicts remembered (`--no-cache` does without)",
}

READ = {
    "../specification": (
        ("rule.py", "blocks.py", "_jax.py", "primitives/*.py"),
        "a primitive that means something else: of those that `meaning` reads there",
    ),
}
"""The same of which only these files count."""

SPECIFIED = ("specification/**/*.py", "jaxpr/lu_solver.py", "jaxpr/same_program.py")
WHOLE = (
    "coq/_graph.py",
    "coq/_graphs.py",
    "coq/_operations.py",
    "coq/_runs.py",
    "coq/_signs.py",
    "graph/coq/printed.py",
    "graph/coq/whole.py",
    "graph/coq/signs.py",
)
BESIDE_COQ = {
    "the specification": (SPECIFIED, "a primitive that means something else"),
    "the printer, and how Coq is asked": (
        ("coq/*.py", "rules/certificates/printed.py"),
        "a theorem that is not the claim",
    ),
    "graphs": (WHOLE, "another graph than the certificate's"),
}
"""What stands between a rule or a graph and a wrong `accepted by Coq`, beside JAX's tracing and Coq."""
RUN = {
    "finding the rule, and its declaration": (
        ("rules/**/*", "ops/*", "hypotheses/*"),
        "another rule than the certificate's",
    ),
    "tracing its code": (
        (
            "obligations/tracing/**/*",
            "obligations/prove/*",
            "obligations/verify/*",
            "obligations/certificate.py",
            "*.py",
        ),
        "another program than the one that runs",
    ),
    "what its code asks of sizes and dtypes": (
        ("obligations/generality/*", "obligations/auditing/*", "obligations/conformance/*"),
        "a size at which another program runs",
    ),
    "sizes as polynomials": (("obligations/terms/*", "obligations/assume/*"), "two sizes that count as one"),
    "points, complex numbers": (("**/*",), "any of these"),
}
"""What runs beside these when a user's rule is printed: groups of the files that are seen to be called."""
RULES = ROOT / "tests" / "coq" / "rules_for_coq.py"
EVALUATED = {f"specification/{name}.py" for name in ("evaluate", "places", "numbers", "document", "examples", "text")}
"""The specification as numbers and as a page: nothing that is printed for Coq comes from it."""


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


def counted(files: Iterable[Path]) -> tuple[int, int, int]:
    """Modules, all lines, lines of code."""
    files = sorted(files)
    return len(files), sum(len(f.read_text().splitlines()) for f in files), sum(map(code_lines, files))


def table() -> str:
    """The table as Markdown."""
    lines = ["| package of `certgrad/obligations/` | modules | lines | of code | an error there would be |"]
    lines.append("| --- | ---: | ---: | ---: | --- |")
    total: Counter[int] = Counter()
    found = {name: (("**/*.py",), error) for name, error in FLOORS.items()} | READ
    for name, (patterns, error) in found.items():
        numbers = counted({f for pattern in patterns for f in (KERNEL / name).glob(pattern)})
        total.update(dict(enumerate(numbers)))
        lines.append(f"| `{name}/` | {' | '.join(f'{n:,}' for n in numbers)} | {error} |")
    lines.append(f"| **what a `proved` rests on** | {' | '.join(f'**{total[k]:,}**' for k in range(3))} | |")
    for name, use in OUTSIDE.items():
        numbers = counted((KERNEL / name).rglob("*.py"))
        lines.append(f"| `{name}/` | {' | '.join(f'{n:,}' for n in numbers)} | not trusted: {use} |")
    missing = {p.name for p in KERNEL.iterdir() if p.is_dir() and any(p.glob("*.py"))} - FLOORS.keys() - OUTSIDE.keys()
    if missing:
        raise SystemExit(f"no word on what rests on {', '.join(sorted(missing))}: add it to FLOORS or OUTSIDE")
    return "\n".join(lines)


def table_beside_coq() -> str:
    """The same of what Coq accepts."""
    lines = ["| | modules | lines | of code | an error there would be |", "| --- | ---: | ---: | ---: | --- |"]
    total: Counter[int] = Counter()
    left = {PACKAGE / name for name in EVALUATED}
    for name, (patterns, error) in reversed(BESIDE_COQ.items()):  # a file of graphs is none of the printer's
        files = {f for pattern in patterns for f in PACKAGE.glob(pattern)} - left
        left |= files
        numbers = counted(files)
        total.update(dict(enumerate(numbers)))
        lines.insert(2, f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} | {error} |")
    run = called() - left - {PACKAGE / name for name in EVALUATED}
    for name, (patterns, error) in RUN.items():
        files = run & {f for pattern in patterns for f in PACKAGE.glob(pattern)}
        run -= files
        if files:
            numbers = counted(files)
            total.update(dict(enumerate(numbers)))
            lines.append(f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} | {error} |")
    lines.append(f"| **what `accepted by Coq` rests on** | {' | '.join(f'**{total[k]:,}**' for k in range(3))} | |")
    return "\n".join(lines)


def called() -> set[Path]:
    """The files of certgrad whose functions are called while rules of a user's are printed, in a process of its own."""
    run = [sys.executable, __file__, "--called"]
    done = subprocess.run(run, check=True, capture_output=True, text=True, cwd=ROOT)
    return {ROOT / name for name in done.stdout.splitlines() if name.startswith("certgrad")}


def print_called() -> None:
    """Print a user's rules for Coq, and name the files of certgrad whose functions that calls."""
    sys.path.insert(0, str(ROOT))
    from certgrad.rules.certificates.printed import print_rule
    from certgrad.rules.finding.find import find
    from certgrad.rules.judging.by_name import examined

    rules = [one for one in find(str(RULES)).rules if "wrong" not in one.name]
    certificates = [examined(one, {})[0].certificate for one in rules]
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    for certificate, one in zip(certificates, rules, strict=True):
        assert certificate is not None
        print_rule(certificate, one).text()
    sys.setprofile(None)
    print("\n".join(sorted(str(Path(f).relative_to(ROOT)) for f in files if Path(f).is_relative_to(PACKAGE))))


def main() -> None:
    if "--called" in sys.argv[1:]:
        print_called()
        return
    for mark, found in zip(MARKS, (table(), table_beside_coq()), strict=True):
        print(f"{found}\n")
        if "--write" in sys.argv[1:]:
            begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
            block = f"{begin}\n{found}\n{end}"
            page = PAGE.read_text()
            PAGE.write_text(
                re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _, b=block: b, page, flags=re.DOTALL)
            )


if __name__ == "__main__":
    main()
