"""Loops and branches in torch: one row a primitive."""

from __future__ import annotations

from certgrad.exports._flat import Step
from certgrad.exports._torch._code import Code, Rule


def _scan(c: Code, step: Step, xs: list[str]) -> str:
    p = step.params
    body = c.function(step.programs[0], f"body{step.outputs[0].number}")
    consts, carries = p["consts"], p["carries"]
    parts = [xs[:consts], xs[consts : consts + carries], xs[consts + carries :]]
    found = c.helper("_scan", body, *(f"[{', '.join(x)}]" for x in parts), c.size(p["length"]), bool(p["reverse"]))
    return f"{found}[0]" if len(step.outputs) == 1 else found


def _while(c: Code, step: Step, xs: list[str]) -> str:
    tested, held = step.params["test_consts"], step.params["body_consts"]
    programs = []
    for program, given, title in zip(
        step.programs, (xs[:tested], xs[tested : tested + held]), ("test", "body"), strict=True
    ):
        name = c.function(program, f"{title}{step.outputs[0].number}")
        programs.append(f"lambda *carry: {name}({', '.join([*given, '*carry'])})")
    found = c.helper("_while", *programs, f"[{', '.join(xs[tested + held :])}]")
    return f"{found}[0]" if len(step.outputs) == 1 else found


def _cond(c: Code, step: Step, xs: list[str]) -> str:
    branches = [c.function(b, f"branch{step.outputs[0].number}_{k}") for k, b in enumerate(step.programs)]
    found = c.helper("_switch", xs[0], f"[{', '.join(branches)}]", f"[{', '.join(xs[1:])}]")
    return f"{found}[0]" if len(step.outputs) == 1 else found


TABLE: dict[str, str | Rule] = {
    "cond": _cond,
    "scan": _scan,
    "while": _while,
}
