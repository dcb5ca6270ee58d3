"""`certgrad conform`: how far the ops of the library stray from the exact value in floats."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad.cli import _complete, _console, _options, _output, _pool
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.conform import Bounded, Conformity

_DTYPES = ("float64", "float32", "bfloat16", "float16")


def conform(
    ops: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OP]...", help="Ops of the library; all of them by default.", autocompletion=_complete.subjects
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Separated by commas, of {', '.join(_DTYPES)}.")
    ] = ",".join(_DTYPES),
    hard: Annotated[
        bool, typer.Option("--hard/--ordinary", help="At hard arguments too, or at ordinary ones alone.")
    ] = True,
    bounds: Annotated[
        bool, typer.Option("--bounds", help="Bound what rounding does over a box of arguments, in place of measuring.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Write a Markdown page there.")
    ] = None,
    jobs: _options.Jobs = None,
) -> None:
    """Measure forward, JVP and VJP of ops in floats, in units in the last place of the exact value.

    On each kind of device that JAX sees. The exact value is that of the same program in ball arithmetic. Ordinary
    arguments are drawn inside the domain; hard ones are huge, tiny, near the numbers that bound regions, or cancel:
    where a result overflows or loses digits there is named. This is a measurement, and no part of any proof.

    With `--bounds`, a bound on the rounding error of forward and VJP over a box around an ordinary point is proved from
    a stated model of the arithmetic, in float64, float32 and bfloat16, and shown beside what is measured in the box.

    Exit codes: 0 in float32 nothing is above 4 units at ordinary arguments without a reason, and nothing is NaN in any
    dtype inside its domain, at the magnitudes that the op states; 1 something is; 2 usage or bad input.
    """
    import jax

    from certgrad.conform import devices
    from certgrad.ops import registry
    from certgrad.report.pages import floats

    dtypes = [name.strip() for name in dtype.split(",")]
    if unknown := [name for name in dtypes if name not in _DTYPES]:
        raise UsageError(f"--dtype: there is no '{unknown[0]}'; there are {', '.join(_DTYPES)}.")
    names = [registry.get(name).name for name in ops or registry.names()]
    if bounds:
        _bounds(names, [d for d in dtypes if d != "float16"], output, jobs)
    tasks = [(name, dtypes, device, hard) for device in devices() for name in names]
    measured = list(_console.progress(_run(tasks, jobs), len(tasks), shown=True, verb="measuring"))
    if output is not None:
        _output.write_to(output, floats.as_markdown(measured, f"jax {jax.__version__}"), str(output))
    typer.echo(floats.as_text(measured), nl=False)
    raise typer.Exit(ExitCode.REFUTED if any(conformity.problems() for conformity in measured) else ExitCode.DISCHARGED)


def _bounds(names: Sequence[str], dtypes: Sequence[str], output: Path | None, jobs: int | None) -> None:
    """Bound the rounding errors of ops, print them, and exit: with 1 if a measured error is above its bound."""
    import jax

    from certgrad.report.pages import rounding

    tasks = [(name, list(dtypes)) for name in names]
    count = _options.processes(jobs, len(tasks))
    bounded = list(
        _console.progress(_pool.results(_bound, tasks, count, parts=8), len(tasks), shown=True, verb="bounding")
    )
    if output is not None:
        _output.write_to(output, rounding.as_markdown(bounded, f"jax {jax.__version__}"), str(output))
    typer.echo(rounding.as_text(bounded), nl=False)
    raise typer.Exit(
        ExitCode.REFUTED if any(rounding.beyond(op_bounds) for op_bounds in bounded) else ExitCode.DISCHARGED
    )


def _bound(task: tuple[str, list[str]]) -> "Bounded":
    from certgrad.conform import bounded
    from certgrad.ops import registry

    name, dtypes = task
    return bounded(registry.get(name), dtypes)


_Task = tuple[str, list[str], str, bool]


def _run(tasks: Sequence[_Task], jobs: int | None) -> "Iterator[Conformity]":
    """Yield the results in order: on a CPU from several processes, on another device from one."""
    count = 1 if any(device != "cpu" for _, _, device, _ in tasks) else _options.processes(jobs, len(tasks))
    return _pool.results(_conformity, tasks, count, parts=8)


def _conformity(task: _Task) -> "Conformity":
    from certgrad.conform import conform as measure
    from certgrad.conform import devices
    from certgrad.ops import registry

    name, dtypes, device, hard = task
    return measure(registry.get(name), dtypes, devices()[device], hard)
