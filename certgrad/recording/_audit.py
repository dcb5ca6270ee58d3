"""The audit of recorded rules, for which declarations are made from their calls."""

from __future__ import annotations

import io
import re
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from jax._src import config

from certgrad.jaxpr.closures import kind_of_rule
from certgrad.obligations.certificate import ORDER, PROOFS
from certgrad.obligations.conformance import NARROW
from certgrad.report.audited import RuleResult
from certgrad.report.findings import LEFT_OUT, Remark
from certgrad.rules.declared.declaration import Declaration, declaration_of
from certgrad.rules.finding.find import FoundRule, name_in, rules_of_module
from certgrad.rules.finding.reexports import imported
from certgrad.rules.judging.at_sizes import at_these
from certgrad.rules.judging.by_name import examined, not_audited, of_report
from certgrad.rules.project.configuration import nearest
from certgrad.rules.subject.layers import place_of, plain_function, unwrapped
from certgrad.rules.subject.report import Report
from certgrad.rules.workers.worker import left_out

from ._claims import Claim, claims_of
from ._limit import OverError, limited
from ._notes import Bare, Notes, Rule, Variant, own_function

NOT_CALLED = "it was not called in this run; `certgrad audit` looks at it without one"
CHANGED_DURING_RUN = "a value that its code reads changed during the run, and the audit is of what is there now"
SECONDS = 60.0
"""Seconds for the audit of one rule, at all of its calls."""
MAX_SHOWN = 120
"""A note shows at most this many characters of a signature or of a static value."""
MADE_INSIDE = "it is made inside a function, where no name leads to it"


@dataclass(frozen=True)
class Recorded:
    """The result for a rule that was called, or for one of the user's modules that was not."""

    result: RuleResult
    called: int = 0
    declarations: tuple[Declaration, ...] = ()
    """The declarations at which it was audited."""
    unsaved: str = ""
    """Why its declarations are not saved for a later audit; "" where they can be."""


@dataclass(frozen=True)
class Place:
    """The place of a rule: its name in `certgrad audit`, and the object under that name, None if there is none."""

    name: str
    found: Any
    where: str
    file: str


Examined = tuple[RuleResult, Report | None]
"""The result of an audit, and its report; None where the rule could not be audited."""


@dataclass
class _ClaimAudits:
    """The results of the audits of a rule's claims."""

    examined: list[tuple[Examined, Declaration | None]] = field(default_factory=list)
    """The results, each with the declaration made from calls; None where the author declares the rule."""
    left: list[str] = field(default_factory=list)
    """The reasons why nothing is claimed of some calls."""
    notes: list[str] = field(default_factory=list)


def audited(notes: Notes, conformance: bool = True, seconds: float = SECONDS) -> Iterator[Recorded]:
    """Yield the audits of all rules that were called, by name; then the user's rules that were not, without audit."""
    signatures = nearest(Path.cwd()).signatures
    for rule in notes.rules.values():
        for variant in rule.variants.values():
            variant.ended()  # before any audit runs the program's code
    called = {id(unwrapped(v.custom)) for rule in notes.rules.values() for v in rule.variants.values()}
    for place, rule in sorted(placed_rules(notes.rules.values()), key=lambda pair: pair[0].name):
        with _undisturbed():
            result = _audited(rule, place, signatures.get(place.name), conformance, seconds)
        yield result
    for uncalled in _not_called(called):
        yield Recorded(left_out(uncalled.name, NOT_CALLED, uncalled.where, uncalled.file))


def _audited(rule: Rule, place: Place, said: Declaration | None, conformance: bool, seconds: float) -> Recorded:
    """Return the worst result over the variants of a recorded rule, with what was not looked at in time.

    Args:
        rule: its variants and calls.
        place: where it is, and its name.
        said: the declaration of its author; None: it is audited as it was called.
        conformance: compare what was traced with calls.
        seconds: the time for all its variants.
    """
    started = time.perf_counter()
    audits = _ClaimAudits()
    try:
        with limited(seconds):
            for variant in rule.variants.values():
                _look(variant, place, said, conformance, audits)
    except OverError:
        audits.left.append(f"its audit took more than {seconds:g} s, and --seconds gives it more")
    if rule.more:
        audits.left.append(f"{rule.more} calls that close over yet other values were not looked at")
    empty_result = RuleResult(name=place.name, where=place.where, file=place.file)
    (result, report), declared = _worst(audits) or ((empty_result, None), None)
    remarks = [*result.remarks]
    left_out = [*dict.fromkeys(audits.left)]
    if report is not None:
        remarks += [Remark(LEFT_OUT, f"no claim is made about some calls: {text}") for text in left_out]
    elif not remarks:
        remarks += [not_audited("; ".join(left_out) or "none of its calls could be noted")]
    notes = [*result.notes, *audits.notes, *_said_of(declared, rule)]
    seconds = time.perf_counter() - started
    result = msgspec.structs.replace(result, remarks=remarks, notes=[*dict.fromkeys(notes)], seconds=seconds)
    declarations = tuple(d for _, d in audits.examined if d is not None)
    unsaved = "" if place.found is not None else MADE_INSIDE
    return Recorded(result, rule.count, _each_once(declarations), unsaved)


def _look(variant: Variant, place: Place, said: Declaration | None, conformance: bool, looked: _ClaimAudits) -> None:
    """Audit a variant, as its author declares or else as it was called, and add the results to `looked`."""
    if variant.problem:
        looked.left.append(variant.problem)
        return
    if variant.changed:
        looked.left.append(f"{CHANGED_DURING_RUN}: {variant.changed}")
    rule = place.found if place.found is not None and unwrapped(place.found) is variant.custom else variant.custom
    found_rule = FoundRule(place.name, rule, where=place.where, file=place.file)
    if said is not None or declaration_of(rule, plain_function(unwrapped(rule))) is not None:
        table = {place.name: (said,)} if said is not None else {}
        results: list[tuple[Examined, Declaration | None]] = [(examined(found_rule, table, conformance), None)]
    else:
        claims = claims_of(variant)
        looked.left += claims.left
        results = [_audit_of_claim(found_rule, claim, conformance, looked) for claim in claims.claims]
    looked.examined += results
    looked.left += _called_in_other_dtypes(variant, [report for (_, report), _ in results if report is not None])


def _called_in_other_dtypes(variant: Variant, reports: Sequence[Report]) -> Iterator[str]:
    """Yield texts on the dtypes of calls that the claims do not cover."""
    called = {leaf.dtype for call in variant.calls.values() for leaf in call.leaves()}
    for text in dict.fromkeys(report.dtypes for report in reports if report.dtypes):
        claimed = text.partition(" (")[0].split()
        if others := sorted(d for d in called.difference(claimed) if d.startswith(("float", "bfloat"))):
            yield f"they are in {' and '.join(others)}, and the claim is about {text}"
    if variant.mixed and any(NARROW in report.limits for report in reports):
        yield f"they are in float32 while JAX computes in 64 bits, and the claim is about {NARROW}"


def _audit_of_claim(
    found: FoundRule, claim: Claim, conformance: bool, looked: _ClaimAudits
) -> tuple[Examined, Declaration]:
    """Return the audit of one claim with its declaration, in which all sizes are apart.

    If that is not proved, but is with sizes joined that agreed in all calls, return that one, with a note in `looked`.
    """
    apart = _at_these(examined(found, {found.name: (claim.apart,)}, conformance), claim.kept)
    result, report = apart
    if _is_proved(report) or claim.joined.signature == claim.apart.signature or _also_joined(report, claim):
        return apart, claim.apart
    joined = examined(found, {found.name: (claim.joined,)}, conformance)
    if not _is_proved(joined[1]):
        return (apart, claim.apart) if report is not None else (joined, claim.joined)
    outcome = report.verdict if report is not None else "; ".join(r.text for r in result.remarks)
    looked.notes.append(
        f"sizes that agreed in every call stand for one: {declaration_text(claim.joined)}; with sizes of their own "
        f"({declaration_text(claim.apart)}) it is {outcome}"
    )
    return joined, claim.joined


def _also_joined(report: Report | None, claim: Claim) -> bool:
    """Return whether a witness has equal sizes where all calls have, so that it also refutes the joined claim."""
    witness = report.witness if report is not None else None
    if witness is None:
        return False
    apart, joined = (re.findall(r"[A-Za-z_]\w*", _texts(d)[0]) for d in (claim.apart, claim.joined))
    sizes: dict[str, int] = {}
    return len(apart) == len(joined) and all(
        sizes.setdefault(name, witness.dims[own]) == witness.dims[own]
        for own, name in zip(apart, joined, strict=True)
        if own in witness.dims
    )


def _at_these(examined: Examined, kept: Mapping[str, int]) -> Examined:
    """Return the result of a claim; one that is proved with `kept` sizes as numbers is marked as about these alone."""
    result, report = examined
    if not kept or report is None or not _is_proved(report):
        return examined
    reason = f"{', '.join(kept)} stayed as in the calls, and the rule runs at other lengths too"
    report = at_these(report, kept, reason)
    return of_report(result, report), report


def _is_proved(report: Report | None) -> bool:
    return report is not None and report.verdict in PROOFS


def _worst(looked: _ClaimAudits) -> tuple[Examined, Declaration | None] | None:
    """Return the worst result with its declaration; None if there is none at all.

    Results without a report are added to the calls of which nothing is claimed, the other results to the notes.
    """
    with_report = [(report, one) for one in looked.examined if (report := one[0][1]) is not None]
    for (result, report), declared in looked.examined:
        if report is None and with_report:
            prefix = f"{declaration_text(declared)}: " if declared is not None else ""
            looked.left += [prefix + r.text.removeprefix("not audited: ") for r in result.remarks]
    if not with_report:
        return looked.examined[0] if looked.examined else None
    report, worst = max(with_report, key=lambda pair: ORDER.index(pair[0].verdict))
    own_text = _claim_text(report, worst[1])
    texts = [_claim_text(report, declared) for report, (_, declared) in with_report]
    looked.notes += [f"also audited as {text}" for text in texts if text != own_text]
    return worst


def _claim_text(report: Report, declared: Declaration | None) -> str:
    """Return the result of one claim in words."""
    under = f" ({', '.join(report.hypotheses)})" if report.hypotheses else ""
    prefix = f"{declaration_text(declared)}: " if declared is not None else ""
    return f"{prefix}{report.verdict}{under}"


def _said_of(declared: Declaration | None, rule: Rule) -> list[str]:
    """Return a note on how often the rule was called, and as what it was audited; none without a declaration."""
    if declared is None:
        return []
    times = "once" if rule.count == 1 else f"{rule.count} times"
    closures_text = f", with {len(rule.variants)} choices of what it closes over" if len(rule.variants) > 1 else ""
    return [f"called {times}{closures_text}; audited as {declaration_text(declared)}"]


def declaration_text(declared: Declaration) -> str:
    """Return a declaration in words: its signature, and the values of its other arguments, in short."""
    signature, statics = _texts(declared)
    return ", ".join(
        [f'"{_shortened_text(signature)}"', *(f"{name} = {_shortened_text(text)}" for name, text in statics)]
    )


def _texts(declared: Declaration) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a declaration's signature and static values as texts."""
    from certgrad.rules.declared.statics import Each, Real, text_of

    def value(v: Any) -> str:
        if isinstance(v, Each):
            return " or ".join(map(value, v.values))
        return "any number" if isinstance(v, Real) else text_of(v)

    signature = declared.signature
    text = signature if isinstance(signature, str) else ", ".join(map(str, signature))
    return text, tuple((name, value(v)) for name, v in declared.static.items())


def _shortened_text(text: str) -> str:
    """Return a text, cut if it is long: a static value can be a list of messages, or an object with all it holds."""
    text = re.sub(r"\s*\n\s*", " ", text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"


def _each_once(declarations: Sequence[Declaration]) -> tuple[Declaration, ...]:
    return tuple({_texts(d): d for d in declarations}.values())


def placed_rules(rules: Iterable[Rule]) -> Iterator[tuple[Place, Rule]]:
    """Yield rules with their places. Variants that a module keeps under different names are rules of their own."""
    for rule in rules:
        by_name: dict[str, tuple[Place, Rule]] = {}
        for key, variant in rule.variants.items():
            place = located(variant.custom)
            by_name.setdefault(place.name, (place, Rule(more=rule.more)))[1].variants[key] = variant
        yield from by_name.values()


def located(custom: Any) -> Place:
    """Return the place of a rule. The module of a script is named after its file, as in `certgrad audit`."""
    if isinstance(custom, Bare):
        module, name, file, line = custom.module, custom.name, custom.file, custom.line
    else:
        plain = own_function(custom)
        module = str(getattr(plain, "__module__", "") or "")
        name = getattr(plain, "__qualname__", None) or type(plain).__name__
        file, line = place_of(plain)
    where = f"{Path(file).name}:{line}" if line else ""
    name_and_object = _lookup_in_module(sys.modules.get(module), name, custom)
    if name_and_object is None and (holder := _holder(module, custom)):
        module, name_and_object = holder, _lookup_in_module(sys.modules[holder], name, custom)
    own_name = name_and_object[0] if name_and_object else name
    return Place(
        f"{module_name(module)}:{own_name}",
        name_and_object[1] if name_and_object else None,
        where,
        file if line else "",
    )


def _holder(module: str, custom: Any) -> str:
    """Return the module of the same package that made a rule by another module's function and keeps it, or ""."""
    top = module.partition(".")[0]
    for name, loaded in sorted(sys.modules.items()):
        if name.partition(".")[0] == top and isinstance(loaded, ModuleType):
            own_name = name_in(name, custom)
            if own_name and not imported(loaded, own_name):
                return name
    return ""


def _lookup_in_module(module: ModuleType | None, name: str, custom: Any) -> tuple[str, Any] | None:
    """Return the name under which a module has a rule, and the object there; None where no name leads to the rule."""
    if module is None:
        return None
    own_name = name_in(module.__name__, custom)
    member: Any = module
    for part in (own_name or name).split("."):
        member = vars(member).get(part) if isinstance(member, (type, ModuleType)) else None
        member = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
    return (own_name or name, member) if member is not None and unwrapped(member) is custom else None


def module_name(module: str) -> str:
    """Return a module's name; for `__main__`, the name by which it would be imported."""
    main = sys.modules.get("__main__")
    if module != "__main__" or main is None:
        return module
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name)
    return Path(getattr(main, "__file__", None) or "__main__").stem


def _not_called(called: set[int]) -> Iterator[FoundRule]:
    """Yield the rules in the user's own modules, those below this folder, that were not called."""
    installed = [Path(p) for p in {sysconfig.get_paths()[k] for k in ("purelib", "platlib", "stdlib")}]
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(module, ModuleType) or not isinstance(file, str):
            continue
        path = Path(file)
        if not path.is_relative_to(Path.cwd()) or any(path.is_relative_to(p) for p in installed):
            continue
        for rule in rules_of_module(module, called):
            if kind_of_rule(unwrapped(rule.rule)).startswith("jax."):
                yield replace(rule, name=f"{module_name(name)}:{rule.name.partition(':')[2]}")


def _undisturbed() -> ExitStack:
    """Silence the program's output while it is traced again, and turn off JAX's checks of values."""
    stack = ExitStack()
    stack.enter_context(redirect_stdout(io.StringIO()))
    for setting in (config.debug_nans, config.debug_infs, config.check_tracer_leaks, config.disable_jit):
        stack.enter_context(setting(False))
    return stack
