"""Loops and branches in torch: a table with a row for each primitive."""

from __future__ import annotations

from certgrad.exports._flat import Step
from certgrad.exports._torch._code import Code, Rule


def _scan(c: Code, step: Step, xs: list[str]) -> str:
    p = step.params
    body = c.function(step.programs[0], f"body{step.outputs[0].number}")
    consts, carries = p["consts"], p["carries"]
    parts = [xs[:consts], xs[consts : consts + carries], xs[consts + carries :]]
    helper_call = c.helper(
        "_scan", body, *(f"[{', '.join(x)}]" for x in parts), c.size(p["length"]), bool(p["reverse"])
    )
    return f"{helper_call}[0]" if len(step.outputs) == 1 else helper_call


def _while(c: Code, step: Step, xs: list[str]) -> str:
    test_consts, body_consts = step.params["test_consts"], step.params["body_consts"]
    programs = []
    for program, constants, title in zip(
        step.programs, (xs[:test_consts], xs[test_consts : test_consts + body_consts]), ("test", "body"), strict=True
    ):
        name = c.function(program, f"{title}{step.outputs[0].number}")
        programs.append(f"lambda *carry: {name}({', '.join([*constants, '*carry'])})")
    helper_call = c.helper("_while", *programs, f"[{', '.join(xs[test_consts + body_consts :])}]")
    return f"{helper_call}[0]" if len(step.outputs) == 1 else helper_call


def _cond(c: Code, step: Step, xs: list[str]) -> str:
    branches = [c.function(b, f"branch{step.outputs[0].number}_{k}") for k, b in enumerate(step.programs)]
    helper_call = c.helper("_switch", xs[0], f"[{', '.join(branches)}]", f"[{', '.join(xs[1:])}]")
    return f"{helper_call}[0]" if len(step.outputs) == 1 else helper_call


TABLE: dict[str, str | Rule] = {
    "cond": _cond,
    "scan": _scan,
    "while": _while,
}
