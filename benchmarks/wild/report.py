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
        "What is proved is the rule as it stands in the package, traced at these shapes: declared for it, inferred, or "
        "recorded in a driver. Where sizes are named, it is proved at those alone. Of a function that is said to "
        "approximate another one the value is proved, and the derivative of that other one.",
        _list(_proved(rules)),
        "## Unproved",
        _reasons(rules),
        _list(_unproved(rules)),
        "## Not audited",
        "No shapes are declared, none was found that traces, and no driver calls them: these take functions, solvers' "
        "states, random keys or kernels that exist on other hardware only.",
        _list(
            f"`{_short(r)}` ({r['where']}): {_one_line(r.get('why', ''))}" for _, r in rules if _is(r, "not audited")
        ),
        "## Not reached",
        "Rules that the source makes and that were not looked at: those made inside functions that no driver calls, "
        "and those of modules that do not import in this environment.",
        _list(_unreached(results)),
    ]
    return "\n\n".join(s for s in sections if s) + "\n"


def _introduction(rules: Sequence[tuple[str, Any]], results: Mapping[str, Any]) -> str:
    counts = Counter(r["verdict"] for _, r in rules)
    traced = [r for _, r in rules if _traced(r)]
    definite = [r for r in traced if r["verdict"] in DEFINITE]
    found = sum(_found(one) for one in results.values())
    holders = sum(bool(_found(one)) for one in results.values())
    share = round(100 * len(definite) / len(traced)) if traced else 0
    recorded = sum(r.get("origin") == "recorded" or "called" in r for _, r in rules)
    return "\n".join(
        [
            "# certgrad over packages that people use",
            "",
            "Made by `python benchmarks/wild/run.py`, which says what environment it needs. It is run by hand: "
            "`certgrad report --check` does not look at this file. Rows can be of several runs.",
            "",
            f"{found} rules were found in {holders} packages, in their source or when called. {len(rules)} were "
            f"reached, {recorded} of these in recorded drivers; {len(traced)} ran at the shapes that were declared, "
            f"inferred or recorded, and {len(definite)} of these ({share} %) have a definite verdict. "
            f"{', '.join(f'{counts[v]} {v}' for v in VERDICTS if counts[v])}.",
            "",
            "A verdict is about the rule as the package defines it, at the shapes listed with it, over the real "
            "numbers. Declarations are in `benchmarks/wild/declared.py`, drivers in `benchmarks/wild/drivers/`.",
        ]
    )


def _found(one: Mapping[str, Any]) -> int:
    """The rules of a package that were reached, and those that its source makes beside them."""
    return len(one["rules"]) + len(one.get("unreached", ()))


def _table(results: Mapping[str, Any]) -> str:
    columns = ["package", "version", "found", "reached", *(v.removeprefix("proved ") for v in VERDICTS), "seconds"]
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    total: Counter[str] = Counter()
    found, seconds = 0, 0.0
    for package, one in results.items():
        counts = Counter(r["verdict"] for r in one["rules"])
        took = sum(r.get("seconds", 0.0) for r in one["rules"])
        total += counts
        found += _found(one)
        seconds += took
        if _found(one):
            lines.append(_row(_name(package), one["version"], _found(one), counts, took))
    return "\n".join([*lines, _row("**all**", "", found, total, seconds)])


def _row(name: str, version: str, found: int, counts: Counter[str], seconds: float) -> str:
    cells = [name, version, str(found), str(sum(counts.values())), *(str(counts[v] or "") for v in VERDICTS)]
    return f"| {' | '.join([*cells, f'{seconds:.0f}' if seconds else ''])} |"


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
        if "shows" in found:
            lines += ["", "```python", found["shows"].strip(), "```"]
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
        upstream = f"\n\n- Upstream: {found['upstream']}" if "upstream" in found else ""
        shows = f"\n\n```python\n{found['shows'].strip()}\n```" if "shows" in found else ""
        yield f"{title}\n\n{text}{upstream}{shows}"


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
        if rule.get("sizes"):
            shown = f", for {_sizes(rule['sizes'])} alone{shown}"
        took = f", {rule['seconds']} s" if "seconds" in rule else ""
        yield f"`{_short(rule)}` ({place}) at `{_cut(shapes)}` ({rule['origin']}{took}){shown}{none}{about}"


def _sizes(sizes: Sequence[Mapping[str, int]]) -> str:
    shown = ["; ".join(", ".join(f"{n} = {v}" for n, v in sorted(one.items())) for one in sizes[:3])]
    return "; ".join([*shown, f"{len(sizes) - 3} more"] if len(sizes) > 3 else shown)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _unproved(rules: Sequence[tuple[str, Any]]) -> Iterator[str]:
    for package, rule in rules:
        if _is(rule, "unproved"):
            took = f", {rule['seconds']} s" if "seconds" in rule else ""
            yield f"`{_short(rule)}` ({_name(package)}, {rule['where']}{took}): {_one_line(_reason(rule))}"


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
