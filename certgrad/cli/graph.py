"""`certgrad graph`: certify a whole function as a graph, by induction over its nodes."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from certgrad.cli import _console, _library
from certgrad.cli._errors import ExitCode, describe
from certgrad.errors import UsageError


class Format(StrEnum):
    """A format of a graph's certificate."""

    text = "text"
    json = "json"
    markdown = "markdown"
    html = "html"
    dot = "dot"


def graph(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="As models/mlp.py:loss or package.module:loss; or a model of the builder, which has its specs.",
        ),
    ],
    spec: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME: DIMS",
            help="The shape of an argument: --spec 'x: n d'. One for each argument, in any order if named; "
            "'b:' is a scalar, 'labels: n:int' holds integers, 'params: {w: d m, b: m}' is a dict of arrays.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="What to print on stdout.")] = Format.text,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say of every hypothesis why it is discharged or kept (text, markdown).")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 for unproved, surrogate, up to rounding as well.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="Of the processor, for what does not come to a proof: it is unproved then. Usually 20.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Trace a JAX function at symbolic shapes, and prove that its backprop is the adjoint of its derivative.

    Exit codes: 0 proved; 1 refuted (with --strict also unproved, surrogate or proved up to rounding); 2 usage or bad
    input; 3 internal error.
    """
    _library.prepare()
    from certgrad.graph import certify, encode, trace
    from certgrad.graph.certificate import Source, with_source
    from certgrad.graph.views import render_dot, render_html
    from certgrad.graph.wording.report import render_markdown, render_text

    function = load(target)
    specs = specs_of(function, target, spec or [])
    source = Source(target=target, specs=specs if spec else [])
    certificate = with_source(certify(trace(function, *specs), seconds=timeout), source)
    match format:
        case Format.json:
            typer.echo(encode(certificate).decode(), nl=False)
        case Format.markdown:
            typer.echo(render_markdown(certificate, explain), nl=False)
        case Format.html:
            typer.echo(render_html(certificate), nl=False)
        case Format.dot:
            typer.echo(render_dot(certificate), nl=False)
        case Format.text:
            typer.echo(render_text(certificate, _console.width(), explain), nl=False)
    failing = {"refuted", "unproved", "surrogate", "proved up to rounding"} if strict else {"refuted"}
    raise typer.Exit(ExitCode.REFUTED if certificate.verdict in failing else ExitCode.DISCHARGED)


def load(target: str) -> Callable[..., Any]:
    """Return the function that `file.py:name` or `module:name` names. Raises UsageError if there is none."""
    place, mark, name = target.rpartition(":")
    if not mark or not place or not name:
        raise UsageError(
            f"'{target}' does not name a function. Write FILE.py:FUNCTION or MODULE:FUNCTION, as in models/mlp.py:loss."
        )
    module = _from_file(place) if place.endswith(".py") else _from_name(place)
    function: Any = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        functions = sorted(
            n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__
        )
        what = "is not a function" if function is not None else "does not exist"
        raise UsageError(f"'{name}' {what} in {place}. Its functions are: {', '.join(functions) or 'none'}.")
    found: Callable[..., Any] = function
    return found


def _from_file(place: str) -> Any:
    path = Path(place)
    if not path.is_file():
        raise UsageError(f"There is no file {place}. Give a path from the current directory, as in models/mlp.py:loss.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place} cannot be imported as a Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    module_before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _unimportable(place, error) from None
    finally:
        sys.path.pop(0)
        if module_before is not None:
            sys.modules[path.stem] = module_before
    return module


def _from_name(place: str) -> Any:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(place)
    except (Exception, SystemExit) as error:
        raise _unimportable(place, error) from None
    finally:
        sys.path.remove("")


def _unimportable(place: str, error: BaseException) -> UsageError:
    return UsageError(
        f"{place} cannot be imported: {describe(error)}. Run `python {place}` to see where, and mend it first."
    )


def specs_of(function: Callable[..., Any], target: str, specs: list[str]) -> list[str]:
    """Return the specs in the order of the function's arguments, or those of a model of the builder if none are given.

    Raises UsageError if they do not fit.
    """
    from certgrad.graph.builder import Model

    return list(function.specs) if isinstance(function, Model) and not specs else order_specs(function, target, specs)


def order_specs(function: Callable[..., Any], target: str, specs: list[str]) -> list[str]:
    """Return the specs in the order of the function's arguments, by their names or as they are given.

    Raises UsageError if they do not fit the arguments.
    """
    import inspect

    from certgrad.graph.tracing.spec import split_name

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return specs
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in positional]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    named = [(split_name(text)[0], text) for text in specs]  # the name is None if a spec has none
    if not specs and any(p.default is p.empty for p in positional):
        example = " ".join(f"--spec '{n}: …'" for n in names)
        raise UsageError(
            f"{target} takes {', '.join(names)}. Give the shape of each: {example}, such as --spec '{names[0]}: n d'."
        )
    if all(name in names for name, _ in named) and len({n for n, _ in named}) == len(named):
        table = dict(named)
        missing = [p.name for p in positional if p.name not in table and p.default is p.empty]
        if missing:
            raise UsageError(
                f"{target} also takes {', '.join(missing)}. Add --spec '{missing[0]}: …' with its dimensions."
            )
        chosen = [n for n in names if n in table]
        if chosen != names[: len(chosen)]:
            raise UsageError(
                f"{target} takes {', '.join(names)}; the specs skip one before the last. Give those as well."
            )
        return [table[n] for n in chosen]
    unknown = [name for name, _ in named if name is not None and name not in names]
    if unknown and not variadic:
        raise UsageError(f"{target} has no argument '{unknown[0]}'. Its arguments are {', '.join(names) or 'none'}.")
    if len(specs) > len(names) and not variadic:
        raise UsageError(
            f"{target} takes {len(names)} arguments ({', '.join(names)}), but {len(specs)} specs were given."
        )
    return specs
