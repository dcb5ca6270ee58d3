"""`reports/wild.md` from the results: what was found in which package, and what became of it."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

DEFINITE = ("proved", "proved under hypotheses", "proved up to rounding", "proved at sizes", "surrogate", "refuted")
VERDICTS = (*DEFINITE, "unproved", "not audited")
KINDS = {
    "bug": "a defect of the package",
    "convention": "a value chosen at a point, or a region that is left out on purpose",
    "approximation": "the function approximates the one that its rule is for",
    "deliberate": "not the derivative, on purpose",
}
_FINDINGS = Path(__file__).with_name("findings.toml")


def rendered(results: Mapping[str, Any]) -> str:
    """The whole page."""
    findings = tomllib.loads(_FINDINGS.read_text("utf-8"))
    stopped = {p: one for p, one in results.items() if one.get("stopped")}
    results = {p: one for p, one in results.items() if p not in stopped}
    rules = [(package, rule) for package, one in results.items() for rule in one["rules"]]
    sections = [
        _introduction(rules, results),
        _table(results),
        "## Refuted",
        *_refuted(rules, findings),
        *_beside(rules, findings),
        "## Surrogates by intent",
        "What the package itself says it does; declared for it here. The function's value and, for a JVP, the adjoint "
        "law are proved all the same.",
        _list(_surrogates(rules)),
        "## Proved",
        "What is proved is the rule as it stands in the package, traced at these shapes. Of a function that is said to "
        "approximate another one the value is proved, and the derivative of that other one.",
        _list(_proved(rules)),
        "## Unproved",
        _reasons(rules),
        _list(_unproved(rules)),
        "## Not audited",
        "No shapes are declared, and none was found that traces: these take functions, solvers' states, random keys or "
        "kernels that exist on other hardware only.",
        _list(
            f"`{_short(r)}` ({r['where']}): {_one_line(r.get('why', ''))}" for _, r in rules if _is(r, "not audited")
        ),
        "## Not reached",
        "Rules that a function makes anew at each call are objects only while it runs, and modules that do not import "
        "in this environment hold nothing.",
        _list([*_stopped(stopped), *_unreached(results)]),
    ]
    return "\n\n".join(s for s in sections if s) + "\n"


def _introduction(rules: Sequence[tuple[str, Any]], results: Mapping[str, Any]) -> str:
    counts = Counter(r["verdict"] for _, r in rules)
    traced = [r for _, r in rules if _traced(r)]
    definite = [r for r in traced if r["verdict"] in DEFINITE]
    holders = {package for package, _ in rules}
    share = round(100 * len(definite) / len(traced)) if traced else 0
    return "\n".join(
        [
            "# certgrad over packages that people use",
            "",
            "Made by `python benchmarks/wild/run.py`, which says what environment it needs. It is run by hand: "
            "`certgrad report --check` does not look at this file.",
            "",
            f"{len(rules)} rules were found in {len(holders)} packages; {len(traced)} of them trace at the shapes that "
            f"were declared or inferred, and {len(definite)} of these ({share} %) have a definite verdict. "
            f"{', '.join(f'{counts[v]} {v}' for v in VERDICTS if counts[v])}.",
            "",
            "A verdict is about the rule as the package defines it, at the shapes listed with it, over the real "
            "numbers. Declarations are in `benchmarks/wild/declared.py`.",
        ]
    )


def _table(results: Mapping[str, Any]) -> str:
    columns = ["package", "version", "found", *(v.removeprefix("proved ") for v in VERDICTS)]
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    total: Counter[str] = Counter()
    for package, one in results.items():
        counts = Counter(r["verdict"] for r in one["rules"])
        total += counts
        lines.append(_row(_name(package), one["version"], counts))
    return "\n".join([*lines, _row("**all**", "", total)])


def _row(name: str, version: str, counts: Counter[str]) -> str:
    cells = [name, version, str(sum(counts.values())), *(str(counts[v] or "") for v in VERDICTS)]
    return f"| {' | '.join(cells)} |"


def _refuted(rules: Sequence[tuple[str, Any]], findings: Mapping[str, Any]) -> Iterator[str]:
    """Each by hand, those that are defects first."""
    refuted = [(p, r) for p, r in rules if _is(r, "refuted")]
    order = [*KINDS, ""]
    for package, rule in sorted(refuted, key=lambda pr: order.index(findings.get(pr[1]["name"], {}).get("kind", ""))):
        found = findings.get(rule["name"], {})
        lines = [f"### `{_short(rule)}` ({_name(package)}, {rule['where']})", ""]
        lines.append(f"**{KINDS[found['kind']].capitalize()}.** {found['text'].strip()}" if found else "Not examined.")
        for claim in rule["claims"]:
            if claim["verdict"] == "refuted" and claim["witness"]:
                inputs = ", ".join(f"{n} = {_numbers(v)}" for n, v in claim["witness"]["inputs"].items())
                gap = claim["witness"]["gap"]
                size = f" (relative gap {gap})" if gap else ""
                lines += ["", f"- `{claim['kind']}` fails at {inputs}{size}; shapes `{rule['signature'][0]}`."]
        if rule["cause"]:
            lines.append(f"- certgrad's own words: {rule['cause']}.")
        if "upstream" in found:
            lines.append(f"- Upstream: {found['upstream']}")
        yield "\n".join(lines)
    if not refuted:
        yield "None."


def _beside(rules: Sequence[tuple[str, Any]], findings: Mapping[str, Any]) -> Iterator[str]:
    """What was found by hand of rules that have no refutation."""
    others = [(p, r) for p, r in rules if r["name"] in findings and not _is(r, "refuted")]
    if others:
        yield "## Found while examining the others"
    for package, rule in others:
        found = findings[rule["name"]]
        title = f"### `{_short(rule)}` ({_name(package)}, {rule['where']}; {rule['verdict']})"
        text = f"**{KINDS[found['kind']].capitalize()}.** {found['text'].strip()}"
        yield f"{title}\n\n{text}" + (f"\n\n- Upstream: {found['upstream']}" if "upstream" in found else "")


def _surrogates(rules: Sequence[tuple[str, Any]]) -> Iterator[str]:
    for package, rule in rules:
        if _is(rule, "surrogate"):
            gaps = [c["witness"]["gap"] for c in rule["claims"] if c["witness"] and c["witness"]["gap"]]
            seen = f" At a witness it is off by {gaps[0]} (relative)." if gaps else ""
            yield f"`{_short(rule)}` ({_name(package)}, {rule['where']}): {rule['surrogate']}.{seen}"


def _proved(rules: Sequence[tuple[str, Any]]) -> Iterator[str]:
    for package, rule in rules:
        if not rule["verdict"].startswith("proved"):
            continue
        under = list(dict.fromkeys(h for c in rule["claims"] for h in c["hypotheses"]))
        shown = f", under {', '.join(f'`{_cut(h)}`' for h in under)}" if under else ""
        left = rule["without_gradient"]
        if _is(rule, "proved up to rounding"):
            shown += ", up to the rounding of literals"
        none = f"; no gradient for {', '.join(left)}" if left else ""
        shapes = rule["signature"][0] if rule["signature"] else ""
        place = f"{_name(package)}, {rule['where']}"
        about = f". {_sentence(rule['approximates'])}" if rule.get("approximates") else ""
        yield f"`{_short(rule)}` ({place}) at `{_cut(shapes)}` ({rule['origin']}){shown}{none}{about}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _unproved(rules: Sequence[tuple[str, Any]]) -> Iterator[str]:
    for package, rule in rules:
        if _is(rule, "unproved"):
            yield f"`{_short(rule)}` ({_name(package)}, {rule['where']}): {_one_line(_reason(rule))}"


def _reasons(rules: Sequence[tuple[str, Any]]) -> str:
    counts = Counter(_kind_of_reason(_reason(r)) for _, r in rules if _is(r, "unproved"))
    return "\n".join(["| reason | rules |", "| --- | --- |", *(f"| {k} | {n} |" for k, n in counts.most_common())])


def _kind_of_reason(reason: str) -> str:
    for mark in ("JAX could not trace", "budget", "out of time", "a constant array", "the two sides differ"):
        if mark in reason:
            return mark
    return reason.split(";")[0].split(":")[0]


def _reason(rule: Mapping[str, Any]) -> str:
    if "claims" not in rule:
        return str(rule.get("why", ""))
    return next((c["reason"] for c in rule["claims"] if c["verdict"] == "unproved"), "")


def _traced(rule: Mapping[str, Any]) -> bool:
    return not _is(rule, "not audited") and "JAX could not trace" not in _reason(rule)


def _stopped(results: Mapping[str, Any]) -> Iterator[str]:
    """Packages of which only some rules were audited: they do not count above."""
    for package, one in results.items():
        counts = Counter(r["verdict"] for r in one["rules"])
        shown = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v])
        yield f"{_name(package)} {one['version']}: {one['stopped']}, and it is left out of the table; so far {shown}"


def _unreached(results: Mapping[str, Any]) -> Iterator[str]:
    for package, one in results.items():
        left = one.get("unreached", ())
        if left:
            shown = ", ".join(f"`{x}`" for x in left[:6])
            more = f" and {len(left) - 6} more" if len(left) > 6 else ""
            yield f"{_name(package)}: {len(left)} in its source: {shown}{more}"
        if one["problems"]:
            first = _one_line(one["problems"][0])
            many = "1 module" if len(one["problems"]) == 1 else f"{len(one['problems'])} modules"
            yield f"{_name(package)}: {many} not looked at, such as {first}"


def _is(rule: Mapping[str, Any], verdict: str) -> bool:
    return bool(rule["verdict"] == verdict)


def _name(package: str) -> str:
    return package.replace(".substrates.jax", "")


def _short(rule: Mapping[str, Any]) -> str:
    return str(rule["name"]).replace("tensorflow_probability.substrates.jax", "tfp")


def _numbers(value: Any) -> str:
    return f"[{', '.join(map(_numbers, value))}]" if isinstance(value, list) else str(value)


def _one_line(text: str) -> str:
    return _cut(" ".join(text.split()), 240)


def _cut(text: str, size: int = 120) -> str:
    return text if len(text) <= size else f"{text[:size]} …"


def _list(lines: Any) -> str:
    return "\n".join(f"- {line}" for line in lines) or "None."
