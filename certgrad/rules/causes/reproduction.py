"""A script that shows at a witness, in ordinary numbers, that a rule is wrong."""

from __future__ import annotations

import ast
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from certgrad.obligations.certificate import Certificate, Witness
from certgrad.obligations.tracing.jax_internals import kind_of
from certgrad.rules.declared.statics import path_of
from certgrad.rules.declared.structure import array_fields, field_names
from certgrad.rules.subject.layers import REVERSE, keywords_of
from certgrad.rules.subject.projections import in_code
from certgrad.rules.subject.user_rule import UserRule

from .difference_step import difference_step

if TYPE_CHECKING:
    from certgrad.rules.subject.failures import Failure

WIDTH = 76
"""Columns of a line of the script."""


def reproduction(rule: UserRule, certificate: Certificate) -> str:
    """Return a Python script that prints both sides of the first obligation that has a witness; "" if none has one."""
    for claim in certificate.claims:
        for case in claim.cases:
            if case.witness is not None:
                statics = rule.statics_of(claim.cases.index(case), numbers(rule, case.witness))
                return _script(rule, claim.kind, certificate, case.witness, statics)
    return ""


def of_failure(rule: UserRule, found: Failure) -> str:
    """Return a Python script that calls the function, and then its derivative, which raises.

    Names between « and » are the script's own (see `_script_text`). `found` has the arrays, and whether the call was
    under `jax.jit`.
    """
    statics = rule.statics_of(found.case, found.numbers)
    moving = list(rule.moving)
    points = ", ".join(moving)
    statics, needed = _pasted(statics)
    lines = ["import jax, jax.numpy as jnp, numpy as np", *_import("«function»", *_place(rule))]
    lines += [*_imports_of_classes(rule), *needed, ""]
    lines += [f"{name} = {_floats(value)}" for name, value in found.arrays.items()]
    lines += in_code(rule, [n for n in rule.arg_names if n not in moving])
    call, projections = f"«function»({_call(rule, statics)})", in_code(rule, moving)
    lines += ["", *_of_floats("«f»", points, call, rule.complex_outputs, projections)]
    lines.append(f"«outs» = jax.jit(«f»)({points})" if found.jitted else f"«outs» = «f»({points})")
    lines.append("print('the function returns', [y.shape for y in «outs»])")
    if rule.kind in REVERSE:
        derivative = f"jax.vjp(«f», {points})[1]([jnp.ones_like(y) for y in «outs»])"
    else:
        ones = ", ".join(f"jnp.ones_like({n})" for n in moving)
        derivative = f"jax.jvp(«f», [{points}], [{ones}])"
    lines.append(f"jax.jit(lambda {points}: {derivative})({points})" if found.jitted else derivative)
    lines[-1] += f"  # {found.error.splitlines()[0]}"
    return _script_text(lines, rule.arg_names)


def _of_floats(name: str, points: str, call: str, parts: bool, made: Sequence[str]) -> list[str]:
    """Return the lines of a function of the active arguments that returns the float outputs of a call.

    Args:
        name: the function's name.
        points: its parameters, with commas between them.
        call: the expression of the call.
        parts: whether complex outputs are returned as real and imaginary parts.
        made: lines that give arguments the properties that the audit assumed of them.
    """
    of_each = "((y.real, y.imag) if jnp.iscomplexobj(y) else (y,))"
    taken_apart = [f"    «leaves» = [part for y in «leaves» for part in {of_each}]"] if parts else []
    return [
        f"def {name}({points}):",
        *(f"    {line}" for line in made),
        f"    «leaves» = jax.tree.leaves({call})",
        *taken_apart,
        "    return [y for y in «leaves» if jnp.issubdtype(y.dtype, jnp.floating)]",
        "",
    ]


def _script_text(lines: Sequence[str], taken: Sequence[str]) -> str:
    """Return the text of a script, in which each name «n» becomes n, with underscores if an argument has that name.

    Args:
        lines: the lines of the script.
        taken: the names of the arguments.
    """

    def own(match: re.Match[str]) -> str:
        name = match[1]
        while name in taken:
            name += "_"
        return name

    text = re.sub(r"«(\w+)»", own, "\n".join(lines))
    return "\n".join(map(_wrapped_line, text.split("\n"))) + "\n"


def _wrapped_line(line: str) -> str:
    """Return the line, wrapped after commas to `WIDTH` columns if it is then still the same statement."""
    begins = " " * (len(line) - len(line.lstrip()) + 4)
    cut = _AfterCommas(WIDTH, subsequent_indent=begins, break_long_words=False, break_on_hyphens=False).fill(line)
    try:
        same = ast.dump(ast.parse(line.strip())) == ast.dump(ast.parse(cut.strip()))
    except SyntaxError:
        return line
    return cut if same else line


class _AfterCommas(textwrap.TextWrapper):
    wordsep_simple_re = re.compile(r"((?<=,) )")


def _floats(value: Any) -> str:
    if kind_of(value.dtype) == "k":
        return f"jax.random.wrap_key_data(jnp.array({jax.random.key_data(value).tolist()}, dtype='uint32'))"
    return f"jnp.array({np.asarray(value).tolist()}, dtype='{value.dtype}')"


def numbers(rule: UserRule, witness: Witness) -> dict[str, float]:
    """Return the witness's values of the static numbers that the audit leaves open, by name."""
    return {n: float(Fraction(str(witness.inputs[n]))) for n in rule.params}


def _script(rule: UserRule, kind: str, certificate: Certificate, witness: Witness, statics: Mapping[str, Any]) -> str:
    """Return a Python script that shows at a witness how the rule differs from a central difference of the function.

    For the claim `rule_runs_forward` it prints the function's value beside its value under `jax.vjp` instead. Names
    between « and » are the script's own; `_script_text` makes them distinct from the names of the arguments.
    """
    moving = [n for n in witness.tangents if n in rule.arg_names] or list(rule.moving)
    statics, needed = _pasted(statics)
    lines = [
        "import jax, jax.numpy as jnp, numpy as np",
        'jax.config.update("jax_enable_x64", True)',
        *_import("«function»", *_place(rule)),
        *_imports_of_classes(rule),
        *needed,
    ]
    expected = "«f»"  # the function whose difference quotient the rule has to return
    if rule.ideal is not None and kind != "rule_runs_forward":
        expected = "«ideal»"
        module, name = (getattr(rule.ideal, a, "") or "" for a in ("__module__", "__qualname__"))
        lines += _import("«approximated»", module, name)
    lines.append("")
    for name, spec in zip(rule.arg_names, rule.signature.inputs, strict=True):
        lines.append(f"{name} = {_array(witness.inputs[name], spec.dtype, spec.exact)}")
    tangents = [f"«d{n}»" for n in moving]
    if kind != "rule_runs_forward":
        lines += [f"{t} = {_array(witness.tangents[n], 'float')}" for t, n in zip(tangents, moving, strict=True)]
    points = ", ".join(moving)
    call, projections = f"«function»({_call(rule, statics)})", in_code(rule, moving)
    lines += in_code(rule, [n for n in rule.arg_names if n not in moving])
    if kind == "rule_runs_forward":
        lines += [
            "",
            f"def «f»({points}):",
            *(f"    {line}" for line in projections),
            f"    return {call}",
            "",
            f"print('the function:', «f»({points}))",
            f"print('under vjp:   ', jax.vjp(«f», {points})[0])",
        ]
        return _script_text(lines, rule.arg_names)
    lines += ["", *_of_floats("«f»", points, call, rule.complex_outputs, projections)]
    if rule.ideal is not None:
        ideal = f"«approximated»({_call_ideal(rule, statics)})"
        lines += _of_floats("«ideal»", points, ideal, rule.complex_outputs, projections)
    seeds = ", ".join(_array(v, "float") for v in witness.seeds.values())
    lines.append(f"«seeds» = [{seeds}]" if witness.seeds else f"«seeds» = [jnp.ones_like(y) for y in «f»({points})]")
    moved = lambda sign: ", ".join(f"{n} {sign} «h» * {t}" for n, t in zip(moving, tangents, strict=True))  # noqa: E731
    lines += [
        f"«h» = {difference_step(rule, certificate, witness)}",
        f"«change» = [(a - b) / (2 * «h») for a, b in zip({expected}({moved('+')}), {expected}({moved('-')}))]",
        "«expected» = sum(np.vdot(c, s) for c, s in zip(«change», «seeds»))",
        f"«cotangents» = jax.vjp(«f», {points})[1](«seeds»)",
        f"«returned» = sum(np.vdot(c, d) for c, d in zip(«cotangents», [{', '.join(tangents)}]))",
        "print('expected', «expected», 'returned', «returned»)",
    ]
    return _script_text(lines, rule.arg_names)


def _place(rule: UserRule) -> tuple[str, str]:
    """Return the function's module, and its name in it."""
    module = rule.name.partition(":")[0] if ":" in rule.name else getattr(rule.plain, "__module__", "") or ""
    return module, rule.name.partition(":")[2] or getattr(rule.plain, "__qualname__", "")


def _import(variable: str, module: str, name: str) -> list[str]:
    """Return the lines that bind a function to a variable: an import, or a comment if it has no importable name."""
    if not all(part.replace(".", "").isidentifier() for part in (module, name)):
        what = "the function under audit" if variable == "«function»" else "the function that it approximates"
        return [f"{variable} = ...  # {what}"]
    root, *rest = name.split(".")
    return [f"from {module} import {root}", f"{variable} = {'.'.join([root, *rest])}"]


def _imports_of_classes(rule: UserRule) -> list[str]:
    paths = [path_of(kind) for kind in rule.classes.values()]
    return [*dict.fromkeys(f"import {path[0]}" for path in paths if path is not None)]


def _pasted(statics: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the code of each static value, and the lines that it needs before it.

    These are imports, and for each value that has no code a line `given_name = ...` with a comment.
    """
    needed: dict[str, None] = {}

    def text(name: str, value: Any) -> str:
        if type(value) in (tuple, list):
            inner = ", ".join(text(name, v) for v in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
        if type(value) is dict:
            return "{" + ", ".join(f"{text(name, k)}: {text(name, v)}" for k, v in value.items()) + "}"
        if type(value) is float:
            return repr(value) if math.isfinite(value) else f"float('{value}')"
        if value is None or value is ... or type(value) in (bool, int, complex, str, bytes):
            return repr(value)
        if (path := path_of(value)) is not None:
            needed[f"import {path[0]}"] = None
            return ".".join(path)
        needed[f"«given_{name}» = ...  # {' '.join(repr(value).split())}"] = None
        return f"«given_{name}»"

    return {name: text(name, value) for name, value in statics.items()}, list(needed)


def _arguments(rule: UserRule, statics: Mapping[str, str]) -> dict[str, str]:
    """Return the code of each argument by name: of arrays as the function takes them, and of static values."""
    given = {a.name: _structure(a.made_of(a.leaves, lambda *z: " + 1j * ".join(z))) for a in rule.arguments}
    return {**given, **statics}


def _call_ideal(rule: UserRule, statics: Mapping[str, str]) -> str:
    """Return the code of the arguments of the ideal function, as `UserRule.call_ideal` passes them.

    The ideal function is the one that the rule's function approximates.
    """
    given = _arguments(rule, statics)
    arrays = [given.pop(a.name) for a in rule.arguments]
    accepted = keywords_of(rule.ideal) if rule.ideal is not None else ()
    return ", ".join([*arrays, *(f"{n}={v}" for n, v in given.items() if n in accepted)])


def _call(rule: UserRule, statics: Mapping[str, str]) -> str:
    given = _arguments(rule, statics)
    positional = [given.pop(n) for n in rule.positional if n in given]
    return ", ".join([*positional, *(f"{n}={v}" for n, v in given.items())])


def _structure(value: Any) -> str:
    kind: Any = type(value)
    if arrays := array_fields(kind):
        parts = ((n, getattr(value, n)) for n in field_names(kind))
        inner = ", ".join(f"{n}={_structure(v) if n in arrays else repr(v)}" for n, v in parts)
        return f"{'.'.join(path_of(kind) or (kind.__qualname__,))}({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_structure(v)}" for k, v in value.items()) + "}"
    if type(value) in (tuple, list):
        inner = ", ".join(_structure(v) for v in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return value if isinstance(value, str) else repr(value)


def _array(value: Any, dtype: str, exact: str = "") -> str:
    if dtype == "key":
        seeds = _array(value, "int", "uint32")
        return f"jax.vmap(jax.random.key)({seeds})" if isinstance(value, list) else f"jax.random.key({value})"
    kind = {"int": f", dtype={exact!r}" if exact else ", dtype=int", "bool": ", dtype=bool"}.get(dtype, ", dtype=float")
    return f"np.array({_numbers(value, dtype)}{kind})"


def _numbers(value: Any, dtype: str) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_numbers(v, dtype) for v in value) + "]"
    if dtype in ("int", "bool"):
        return str(value)
    return repr(float(Fraction(value)))
