"""`certgrad audit --strict=exact`: the exact evaluation of proved rules, in separate processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

from certgrad.cli import _code, _console, _library, _options, _pool

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult

STRICT = "--strict="


class Strictly(TyperCommand):
    """A command whose flag `--strict` may have a value, as `--strict=exact,assumed`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments without `--strict=…`, whose values become the parameter `strict`; return the rest."""
        ends = args.index("--") if "--" in args else len(args)
        named = [arg for arg in args[:ends] if arg.startswith(STRICT)]
        remaining = super().parse_args(ctx, [arg for k, arg in enumerate(args) if k >= ends or arg not in named])
        if named:
            ctx.params["strict"] = ",".join(arg.removeprefix(STRICT) for arg in named)
            ctx.set_parameter_source("strict", type(ctx.get_parameter_source("strict")).COMMANDLINE)
        return remaining


@dataclass(frozen=True)
class _Task:
    result: "RuleResult"
    targets: Sequence[str]


def with_levels(
    results: Sequence["RuleResult"], targets: Sequence[str], jobs: int | None, *, shown: bool
) -> list["RuleResult"]:
    """Return the results in order; proved ones have the sizes up to which exact evaluation agrees.

    `targets` is the code of the rules; `shown` shows progress.
    """
    tasks = [_Task(one, targets) for one in results]
    run = _pool.results(_with_level, tasks, _options.processes(jobs, len(tasks)))
    return list(_console.progress(run, len(tasks), shown=shown and bool(tasks), verb="evaluating exactly"))


def _with_level(task: _Task) -> "RuleResult":
    _library.prepare()
    from certgrad.rules.certificates.exactly import with_level

    def rule_named(name: str) -> Any:
        return next((rules[name] for target in task.targets if name in (rules := _code.found_in(target))), None)

    return with_level(task.result, rule_named)
