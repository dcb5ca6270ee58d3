"""Rules in users' code that Coq accepts: writes `reports/coq_rules.md`.

    python -m benchmarks.coq_rules [--jobs 2] [--limit 20] [--only NAME]

The set: the right rules of `examples/`, and the rules of installed packages that certgrad proves. Each is exported and
judged as by `certgrad verify --kernel coq`, with no line written by hand. Then the wrong rules of `examples/`, with
certificates that claim them proved: none may be accepted. What was judged before is remembered in `.certgrad_cache`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import msgspec

from certgrad.coq import DEFINED_SUFFIX, File, Judged, Kernel, Library, Obligation, Result
from certgrad.obligations.auditing.heard import heard
from certgrad.obligations.certificate import Certificate, sealed
from certgrad.obligations.generality.traces import Traces
from certgrad.rules.certificates.printed import print_rule
from certgrad.rules.certificates.verify import AsAudited, as_audited
from certgrad.rules.finding.find import FoundRule, find
from certgrad.rules.judging.by_name import declarations_of, examined

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "reports" / "coq_rules.md"
EXAMPLES = ("examples/ordinary", "examples/rules")
PACKAGES = ("jax.nn", "optax", "flax.nnx", "equinox.nn")
PROVED = ("proved", "proved under hypotheses")


@dataclass(frozen=True)
class Printed:
    """A rule as a file of Coq. `wrong`: it is known to be wrong, and its certificate claims otherwise."""

    target: str
    file: File
    wrong: bool

    @property
    def digest(self) -> str:
        """Of what is stated, whatever the tactics are."""
        texts = [d.text for s in self.file.sections for d in s.definitions]
        texts += [t.statement or t.reason for t in self.file.theorems]
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def printed(targets: Sequence[str] = (*EXAMPLES, *PACKAGES)) -> Iterator[Printed]:
    """The rules of the targets that are proved, and those of the examples that are wrong."""
    for target in targets:
        path = str(ROOT / target) if "/" in target else target
        before = list(sys.path)
        found = find(path).rules
        sys.path[:] = before
        for one in found:
            certificate = examined(one, {}, False)[0].certificate
            if certificate is None:
                continue
            if certificate.verdict in PROVED:
                yield Printed(target, print_rule(certificate, one), False)
            elif certificate.verdict == "refuted" and target in EXAMPLES:
                yield Printed(target, print_rule(claimed_proved(certificate, one), one), True)


def claimed_proved(certificate: Certificate, rule: FoundRule) -> Certificate:
    """A certificate that says of a wrong rule that its derivative is proved, of all that its code is traced to."""
    (declared,) = declarations_of(rule, {})
    audited = as_audited(rule, declared, certificate)
    assert isinstance(audited, AsAudited)
    (part,) = audited.parts
    change = msgspec.structs.replace
    claims = [change(c, cases=[change(case, verdict="proved") for case in c.cases]) for c in certificate.claims]
    return sealed(change(certificate, claims=claims, digest=heard(Traces(part), []).digest))


def page(rows: Sequence[tuple[Printed, Result]], limit: int, version: str) -> str:
    """Markdown, the same for the same results."""
    right = [(p, r) for p, r in rows if not p.wrong]
    wrong = [(p, r) for p, r in rows if p.wrong]
    fooled = [r.subject for _, r in wrong if r.whole]
    stated = [j for _, r in right for j in r.claims]
    obligations = [one for _, r in right for one in r.obligations]
    defined = [j for j in stated if j.kind.endswith(DEFINED_SUFFIX)]
    lines = [
        "# Rules in code that Coq accepts",
        "",
        "Made by `python -m benchmarks.coq_rules`. Rules in users' code, exported and judged as by `certgrad verify",
        "--kernel coq`, with no line written by hand. A rule is accepted where Coq's kernel accepts each of its",
        "obligations, and that its programs are defined where the hypotheses hold. What is not accepted is not",
        "refuted by that. A wrong rule is exported with a certificate that claims it proved.",
        f"A proof may take {limit} s. JAX {jax.__version__}, Coq {version}.",
        "",
        f"**{sum(r.whole for _, r in right)} of {len(right)} rules accepted**: {_accepted(obligations)} of "
        f"{len(obligations)} obligations with their programs defined, {_accepted(defined)} of {len(defined)} theorems "
        "that these are.",
        "",
        f"Of {len(wrong)} wrong rules with certificates that claim them proved, **{len(fooled)} accepted**.",
        "",
        "| where | accepted | of |",
        "| --- | ---: | ---: |",
    ]
    for target in dict.fromkeys(p.target for p, _ in right):
        own = [r for p, r in right if p.target == target]
        lines.append(f"| `{target}` | {sum(r.whole for r in own)} | {len(own)} |")
    why = Counter(j.why for j in stated if not j.accepted)
    lines += ["", "## Why not", "", "| reason | theorems |", "| --- | ---: |"]
    lines += [f"| {reason} | {count} |" for reason, count in sorted(why.items(), key=lambda x: (-x[1], x[0]))]
    lines += ["", "## By rule", "", "| rule | accepted | states | not accepted |", "| --- | --- | --- | --- |"]
    lines += [_row(p, r) for p, r in sorted(right, key=lambda row: row[1].subject)]
    lines += ["", "## Wrong rules", "", "| rule | accepted | states | not accepted |", "| --- | --- | --- | --- |"]
    lines += [_row(p, r) for p, r in sorted(wrong, key=lambda row: row[1].subject)]
    return "\n".join(lines) + "\n"


def _row(one: Printed, result: Result) -> str:
    stated = result.claims
    left = [f"{_kind(j)}: {j.why}" for j in stated if not j.accepted]
    counts = "yes" if result.whole else f"{_accepted(stated)} of {len(stated)}"
    return f"| `{result.subject}` | {counts} | `{one.digest}` | {'; '.join(left)} |"


def _kind(judged: Judged) -> str:
    return judged.kind.replace("_", " ")


def _accepted(judged: Sequence[Judged] | Sequence[Obligation]) -> int:
    return sum(j.accepted for j in judged)


def main() -> int:
    """Judge them and write the page; 1 if a wrong rule is accepted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--only", default="", help="Judge the rules with this in their names, and write no page.")
    options = parser.parse_args()
    kernel = Kernel(Library(ROOT / ".certgrad_cache" / "coq"), options.limit)
    rows = [one for one in printed() if options.only in one.file.subject]
    results = {r.subject: r for r in kernel.judge_all([one.file for one in rows], options.jobs)}
    text = page([(one, results[one.file.subject]) for one in rows], options.limit, kernel.library.release)
    if options.only:
        print(text)
    else:
        PAGE.write_text(text)
        print("\n".join(text.splitlines()[6:11]))
    return 1 if any(one.wrong and results[one.file.subject].whole for one in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
