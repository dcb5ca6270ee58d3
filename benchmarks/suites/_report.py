"""`reports/suites.md` from the results: a row for each suite, why rules are not proved, then each suite's rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.suites._suites import BY_HAND

Row = Mapping[str, Any]

INTRODUCTION = """# Suites, recorded

Made by `python -m benchmarks.suites`. Each suite is run plain, `python -m pytest FILES`, and recorded,
`certgrad run -m pytest FILES`: what every test says, the exit code and the output are compared, without times and
addresses. Of a suite those files are run that come to derivative rules, of some those tests. A rule that is met was
called, or is in a module of the checkout that was run and was not called. Seconds are of the processor, of the plain
run and of what recording and the audit add to it (starting certgrad too); those of the audit are by the clock, on a
machine that other programs used. A row is as it was last found."""

VERDICTS = ("proved", "proved under hypotheses", "unproved", "refuted")


def rendered(results: Mapping[str, Row]) -> str:
    """The whole page."""
    sections = [INTRODUCTION, _summary(results), _refuted(results), _reasons(results)]
    for name, one in results.items():
        sections += [f"## {name} {one['version']}", _about(one), _table(one["rules"]), _graphs(one)]
    return "\n\n".join(section for section in sections if section) + "\n"


def _summary(results: Mapping[str, Row]) -> str:
    head = ("suite", "tests", "changed", "rules met", "audited", "proved", "under hypotheses", "unproved", "refuted")
    lines = [_line(*head, "plain s", "more s", "audit s"), _line("---", "---", *["---:"] * 10)]
    for name, one in results.items():
        met = one["rules"]
        counts = [sum(_verdict(rule) == verdict for rule in met) for verdict in VERDICTS]
        tests = ", ".join(f"{count} {kind}" for kind, count in one["tests"].items()) or "a script"
        more = one["recorded processor"] - one["processor"]
        times = (f"{one['processor']:.0f}", f"{more:.0f}", f"{one['audit seconds']:.0f}")
        lines.append(_line(name, tests, len(one["changed"]), len(met), sum(counts), *counts, *times))
    return "\n".join(lines)


def _verdict(rule: Row) -> str:
    """Of the four that are counted."""
    verdict = str(rule["verdict"])
    if verdict.startswith("proved"):
        return "proved under hypotheses" if rule["hypotheses"] else "proved"
    return verdict


def _refuted(results: Mapping[str, Row]) -> str:
    rules = [
        (name, rule["rule"]) for name, one in results.items() for rule in one["rules"] if _verdict(rule) == "refuted"
    ]
    lines = ["## Refuted", "", _line("suite", "rule", "looked at by hand"), _line("---", "---", "---")]
    return "\n".join([*lines, *(_line(name, f"`{rule}`", BY_HAND.get(rule, "not yet")) for name, rule in rules)])


def _reasons(results: Mapping[str, Row]) -> str:
    """How often each kind of reason stands behind a rule that is unproved or was not audited."""
    found: dict[str, list[str]] = {}
    for name, one in results.items():
        for rule in one["rules"]:
            if rule["verdict"] in ("unproved", "not audited"):
                found.setdefault(_kind(rule), []).append(f"{name} `{rule['rule']}`")
    if not found:
        return ""
    lines = ["## Why not", "", _line("reason", "rules", "which"), _line("---", "---:", "---")]
    ordered = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return "\n".join([*lines, *(_line(reason, len(rules), ", ".join(rules)) for reason, rules in ordered)])


def _kind(rule: Row) -> str:
    first = str(rule["reasons"][0]).splitlines()[0] if rule["reasons"] else "no reason"
    first = re.sub(r"^CG\d+: ", "", first)
    first = re.sub(
        r"JAX could not trace .*? at symbolic shapes: (.*?)\. Call it once.*", r"it does not trace: \1", first
    )
    return _cell(re.sub(r" for tag \S+", "", first), 110)


def _about(one: Row) -> str:
    options = " ".join(f"'{text}'" if " " in text else text for text in one["options"])
    files = ", ".join(f"`{file}`" for file in one["files"])
    lines = [f"{files}{f' with `{options}`' if options else ''}."]
    lines += [f"Changed: {_cell(text, 300)}" for text in one["changed"]]
    return "\n\n".join(lines)


def _table(rules: Sequence[Row]) -> str:
    lines = [_line("rule", "verdict", "audited as", "under", "reason"), _line("---", "---", "---", "---", "---")]
    for rule in rules:
        under = "; ".join(f"`{_cell(text, 110)}`" for text in rule["hypotheses"][:3])
        more = f" and {len(rule['hypotheses']) - 3} more" if len(rule["hypotheses"]) > 3 else ""
        signature = next((n.partition("audited as ")[2] for n in rule["notes"] if n.startswith("called ")), "")
        shown = f"`{_cell(signature, 140)}`" if signature else ""
        reason = "; ".join(dict.fromkeys(re.sub(r"^CG\d+: ", "", text) for text in rule["reasons"]))
        proved = rule["verdict"].startswith("proved")
        cells = (under + more, "") if proved else ("", _cell(reason, 300))
        lines.append(_line(f"`{rule['rule']}`", rule["verdict"], shown, *cells))
    return "\n".join(lines)


def _graphs(one: Row) -> str:
    said = one.get("graphs", [])
    changed = [f"Changed with `--graphs`: {_cell(text, 300)}" for text in one.get("graphs changed", [])]
    functions = [line for line in said if re.match(r"\S+ \(|\S+: ", line)]
    parts = [f"With `--graphs`: {said[-1]}." if said else "", *changed, _list(_functions(functions))]
    return "\n\n".join(part for part in parts if part)


def _functions(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"`{_cell(line, 200)}`"


def _list(lines: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _cell(text: str, size: int) -> str:
    text = " ".join(text.split()).replace("`", "").replace("|", "\\|").replace("](", "] (")  # which is a link otherwise
    return text if len(text) <= size else f"{text[:size].rstrip()} …"


def _line(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"
