"""The missing term of a wrong rule written into its source: a diff, shown only where the rule with it is proved."""

from __future__ import annotations

import ast
import difflib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.exhibits.data import Mend
from certgrad.obligations.auditing.audit import audit
from certgrad.obligations.certificate import PROOFS
from certgrad.obligations.generality.syntax import source_tree
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.fix import end_of, spliced, start_of
from certgrad.rules.subject.examine import apply_examination, examine
from certgrad.rules.subject.report import Report
from certgrad.rules.subject.user_rule import UserRule
from certgrad.rules.syntax.scopes import returned_by
from certgrad.signatures.sizes import Size

from .as_code import NotCodeError, Writer
from .missing import Missing

CONTEXT = 3
"""Lines around a change in its diff."""
SECONDS = 10.0
"""Seconds for each proof of the rule with a change; beyond, no mend is shown."""
_WEAK = (ast.IfExp, ast.Lambda, ast.BoolOp, ast.Compare, ast.NamedExpr)
"""Expressions to which a term is added in brackets."""


def mend(rule: UserRule, report: Report, declaration: Declaration) -> Mend | None:
    """Return the diff that adds the missing terms to a wrong rule; None if there is no such diff, or it is not proved.

    Every wrong cotangent has to lack a term that can be written with the arrays which the backward function has. The
    backward function is compiled with the terms added, and the rule with it is audited under the same declaration. Only
    rules of `jax.custom_vjp` are mended whose backward is a Python function without closure; no surrogates.
    """
    wrong = [a for a in report.arguments if a.verdict not in PROOFS]
    if declaration.surrogate or declaration.approximates is not None:
        return None
    if not wrong or not all(a.lacks is not None and a.lacks.term is not None for a in wrong):
        return None
    try:
        source = _Source.of(rule)
        lacks = {a.name: a.lacks for a in wrong if a.lacks is not None}
        changed = source.changed(lacks) if source is not None else None
        if source is None or changed is None:
            return None
        verdict = _checked(rule, source, changed, declaration)
    except (NotCodeError, SyntaxError, OSError, TypeError, ValueError):
        return None
    if verdict not in PROOFS:
        return None
    before, after = source.text.splitlines(), changed.splitlines()
    shown = _relative_path(source.file)
    diff = difflib.unified_diff(before, after, f"a/{shown}", f"b/{shown}", lineterm="", n=CONTEXT)
    return Mend(shown, "\n".join(diff), verdict)


def _relative_path(file: Path) -> str:
    return file.relative_to(Path.cwd()).as_posix() if file.is_relative_to(Path.cwd()) else file.name


@dataclass(frozen=True)
class _Source:
    """The source of a rule's backward function, and the expressions by which arrays can be had in it."""

    rule: UserRule
    file: Path
    text: str
    function: ast.FunctionDef | ast.Lambda
    result: ast.expr
    """The expression that the function returns."""
    arrays: Mapping[str, str]
    """For each argument of the rule that the residuals hold, and for `seed`, an expression in the function."""
    numpy: str
    """The name of `jax.numpy` in the function's module."""

    @classmethod
    def of(cls, rule: UserRule) -> _Source | None:
        """Return the source of the rule's backward function; None if it cannot be read, or is none that can be changed.

        The forward function has to return a pair, so that its second part tells which arguments the residuals hold.
        """
        custom, fwd, bwd = rule.custom, rule.fwd_rule, rule.vjp_rule
        plain = isinstance(custom, jax.custom_vjp) and not custom.nondiff_argnums
        if not plain or not isinstance(fwd, FunctionType) or not isinstance(bwd, FunctionType):
            return None
        numpy = next((n for n, v in bwd.__globals__.items() if v is jnp), "")
        if bwd.__closure__ or not numpy:  # compiled alone, the function would lose its closure
            return None
        file = Path(inspect.getsourcefile(bwd) or "")
        text = file.read_text(encoding="utf-8")
        function, forward = source_tree(bwd), source_tree(fwd)
        if function is None or forward is None or len(function.args.args) != 2:
            return None
        result, kept = returned_by(function), returned_by(forward)
        if result is None or not isinstance(kept, ast.Tuple) or len(kept.elts) != 2:
            return None
        residuals, seed = (a.arg for a in function.args.args)
        parameters = [a.arg for a in forward.args.args]
        if len(parameters) != len(rule.arg_names):  # an argument of several arrays has no name for each
            return None
        arguments = dict(zip(parameters, rule.arg_names, strict=True))
        saved = {arguments[n]: e for n, e in _kept_names(kept.elts[1], residuals, function).items() if n in arguments}
        return cls(rule, file, text, function, result, {**saved, "seed": seed}, numpy)

    def changed(self, lacks: Mapping[str, Missing]) -> str | None:
        """Return the file's text with the missing terms of arguments added to the cotangents that the function returns.

        None is returned if the cotangents are no tuple of one expression for each argument. Raises NotCodeError if a
        term has no code.
        """
        names = list(self.rule.arg_names)
        parts = self.result.elts if isinstance(self.result, ast.Tuple) else [self.result]
        if len(parts) != len(names) or (not isinstance(self.result, ast.Tuple) and len(names) != 1):
            return None
        writer = Writer(self.arrays, self._sizes(), self.numpy)
        source = self.text.encode()  # columns of a syntax tree count bytes
        edits: list[tuple[int, int, str]] = []
        for name, part in zip(names, parts, strict=True):
            if name not in lacks:
                continue
            missing = lacks[name]
            assert missing.term is not None
            code = writer.at(missing.term, missing.axes)
            start, end = start_of(source, part), end_of(source, part)
            old = source[start:end].decode()
            old = f"({old})" if isinstance(part, _WEAK) else old
            edits.append((start, end, f"{old} - {code[1:]}" if code.startswith("-") else f"{old} + {code}"))
        return spliced(source, edits).decode() if edits else None

    def _sizes(self) -> dict[str, str]:
        """Return for each size an expression: the length of an axis of an array that the function has."""
        expressions: dict[str, str] = {}
        for name, spec in zip(self.rule.arg_names, self.rule.signature.inputs, strict=True):
            for k, dim in enumerate(spec.dims):
                if name in self.arrays and isinstance(dim, Size) and dim.name is not None:
                    expressions.setdefault(dim.name, f"{self.arrays[name]}.shape[{k}]")
        return expressions


def _kept_names(kept: ast.expr, name: str, function: ast.FunctionDef | ast.Lambda) -> dict[str, str]:
    """Return the variables of the forward that are saved as residuals, each with an expression for it in the backward.

    The expression is `res[k]`, or the name to which the backward unpacks it (`x, y = res`).

    Args:
        kept: the expression of the residuals that the forward returns.
        name: the backward's parameter for the residuals.
        function: the backward.
    """
    if isinstance(kept, ast.Name):
        return {kept.id: name}
    if not isinstance(kept, ast.Tuple):
        return {}
    at = {e.id: f"{name}[{k}]" for k, e in enumerate(kept.elts) if isinstance(e, ast.Name)}
    body = function.body if isinstance(function, ast.FunctionDef) else []
    for statement in body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)):
            continue
        target = statement.targets[0]
        if statement.value.id == name and isinstance(target, ast.Tuple) and len(target.elts) == len(kept.elts):
            pairs = zip(kept.elts, target.elts, strict=True)
            unpacked = {a.id: b.id for a, b in pairs if isinstance(a, ast.Name) and isinstance(b, ast.Name)}
            return {**at, **{a: b for a, b in unpacked.items() if b != "_" and _assigned_once(b, body)}}
    return at


def _assigned_once(name: str, body: Sequence[ast.stmt]) -> bool:
    stores = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return sum(n.id == name for n in stores) == 1


def _checked(rule: UserRule, source: _Source, changed: str, declaration: Declaration) -> str:
    """Return the verdict on all claims about the rule with the changed backward; "" if that cannot be compiled."""
    forward, old = rule.fwd_rule, rule.vjp_rule
    assert isinstance(forward, FunctionType), "the source was found"
    assert isinstance(old, FunctionType), "the source was found"
    backward = _compiled(changed, source, old)
    if backward is None:
        return ""
    mended = jax.custom_vjp(rule.custom.fun)
    mended.defvjp(forward, backward)
    about = {"excluded": rule.excluded, "conformance": False, **declaration.claimed}
    mended_rule = UserRule(mended, declaration.signature, name=f"{rule.name}, mended", **about)
    apply_examination(mended_rule, examine(mended_rule))
    mended_rule.seconds = SECONDS
    return audit(mended_rule).verdict


def _compiled(changed: str, source: _Source, old: FunctionType) -> Callable[..., Any] | None:
    """Return the backward function compiled from the changed text, with the globals of the old one.

    None is returned where the function is not at its old line, or has decorators.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of the user's code, which was compiled before
        return _function_from(changed, source, old)


def _function_from(changed: str, source: _Source, old: FunctionType) -> Callable[..., Any] | None:
    """Return the function at the old function's line and column, compiled; None if there is none that stands alone."""
    tree = ast.parse(changed)
    function = next(
        (
            n
            for n in ast.walk(tree)
            if isinstance(n, type(source.function))
            and (n.lineno, n.col_offset) == (source.function.lineno, source.function.col_offset)
        ),
        None,
    )
    if isinstance(function, ast.Lambda):
        code = compile(ast.Expression(function), str(source.file), "eval")
        compiled: Callable[..., Any] = eval(code, dict(old.__globals__))
        return compiled
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    scope = dict(old.__globals__)
    exec(compile(ast.Module([function], []), str(source.file), "exec"), scope)
    return scope[function.name]
