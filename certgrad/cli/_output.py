"""`--format` and `--output`: the formats of reports, and files of them, which are written whole or not at all."""

import dataclasses
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import certgrad
from certgrad import _plugins
from certgrad.errors import UsageError
from certgrad.process.files import write_atomically

if TYPE_CHECKING:
    from certgrad.report.audited import Audit


class Format(StrEnum):
    """A format of the audit."""

    text = "text"
    concise = "concise"
    json = "json"
    markdown = "markdown"
    sarif = "sarif"
    junit = "junit"
    github = "github"
    gitlab = "gitlab"
    html = "html"


def names() -> list[str]:
    """Return the names of all formats: those of certgrad, then those of plugins."""
    return [*Format, *(name for name in _plugins.formats() if name not in list(Format))]


def usual(*, verbose: bool = False) -> Format:
    """Return the format that is used if none is chosen: text at a terminal or with `verbose`, else concise."""
    return Format.text if verbose or sys.stdout.isatty() else Format.concise


def parse_format(text: str) -> str:
    """Return a format by its name, after loading its plugin if it has one.

    Raises UsageError for an unknown name, and for a broken plugin.
    """
    if text not in names():
        raise UsageError(f"'{text}' is not one of {', '.join(repr(str(name)) for name in names())}.")
    if text in list(Format):
        return Format(text)
    _plugins.formatter(text)
    return text


@dataclass(frozen=True)
class Output:
    """A report to write to a file."""

    format: str
    path: Path


@dataclass(frozen=True)
class Style:
    """Options of the text format."""

    quiet: bool = False
    verbose: bool = False
    width: int | None = None
    colour: bool = False


PLAIN = Style()


def render(kind: str, audit: "Audit", style: Style = PLAIN, *, of_jax: bool = False) -> str:
    """Return the audit in the format `kind`; `of_jax` says that it is one of JAX itself, with its own text and page."""
    from certgrad.report import concise, github, gitlab, jax, json, junit, markdown, sarif, text

    if kind not in list(Format):
        return _plugins.render(kind, json.render(audit, certgrad.__version__, root()))
    match Format(kind):
        case Format.text if of_jax:
            return jax.render(audit, quiet=style.quiet, width=style.width, colour=style.colour)
        case Format.markdown if of_jax:
            return jax.markdown(audit.certificates)
        case Format.text:
            fails = concise.failing(audit, Path.cwd()) if audit.strict else ()
            return text.render(audit, fails, **dataclasses.asdict(style))
        case Format.concise:
            return concise.render(audit, Path.cwd(), jax.summary(audit.certificates) if of_jax else "")
        case Format.json:
            return json.render(audit, certgrad.__version__, root()).decode()
        case Format.markdown:
            return markdown.render(audit)
        case Format.sarif:
            return sarif.render(audit, certgrad.__version__, root()).decode()
        case Format.junit:
            return junit.render(audit, root()).decode()
        case Format.github:
            return github.render(audit, root())
        case Format.gitlab:
            return gitlab.render(audit, root()).decode()
        case Format.html:
            from certgrad.report import html  # with what makes its exhibits, JAX too

            return html.render(audit, certgrad.__version__)


def draws(kind: str, outputs: Sequence[Output]) -> bool:
    """Return whether an HTML page is among the reports, for which exhibits are made.

    Raises UsageError if the libraries for it are not installed.
    """
    wanted = kind == Format.html or any(one.format == Format.html for one in outputs)
    if wanted:
        from certgrad.report.html import check_installed

        check_installed()
    return wanted


def print_rule_diagnostics(audit: "Audit") -> None:
    """Print what an editor shows of each rule, one line of JSON a rule."""
    import msgspec

    from certgrad.report import diagnostics

    for one in diagnostics.rule_diagnostics(audit):
        typer.echo(msgspec.json.encode(one))


def report(audit: "Audit", kind: str, outputs: Sequence[Output], style: Style, *, of_jax: bool = False) -> None:
    """Write the files of --output, and print the audit in one format; text and concise only if they have a row."""
    write_outputs(audit, outputs, of_jax=of_jax)
    if audit.certified or kind not in (Format.text, Format.concise) or (kind == Format.concise and _lists(audit)):
        typer.echo(render(kind, audit, style, of_jax=of_jax), nl=False)


def write_outputs(audit: "Audit", outputs: Sequence[Output], *, of_jax: bool = False) -> None:
    """Write the audit to each of the files."""
    for destination in outputs:
        write(destination, render(destination.format, audit, of_jax=of_jax))


def _lists(audit: "Audit") -> bool:
    """Return whether the concise format has a line for the audit."""
    from certgrad.report import concise, problems

    return any(map(concise.listed, problems.problems(audit)))


def root() -> Path:
    """Return the folder that paths in reports are relative to: the checkout of a CI job, or the working directory."""
    here = Path.cwd()
    checkouts = (os.environ.get(name, "") for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"))
    return next((Path(one) for one in checkouts if one and here.is_relative_to(one)), here)


def parse(values: Sequence[str], formats: Sequence[str] | None = None) -> list[Output]:
    """Return the reports for the values `FORMAT=PATH` of --output.

    `formats` are the allowed formats; None allows those of an audit, plugins included. Raises UsageError for a wrong
    value, and for a path that is not writable, so that this is known before any work is done.
    """
    outputs: list[Output] = []
    allowed = names() if formats is None else list(formats)
    for value in values:
        name, mark, path = value.partition("=")
        if not mark or not path or name not in allowed:
            raise UsageError(
                f"--output {value}: expected FORMAT=PATH with FORMAT one of {', '.join(allowed)}, "
                "as in --output json=audit.json."
            )
        if formats is None and name not in list(Format):
            _plugins.formatter(name)
        output = Output(name, Path(path))
        if any(os.path.realpath(output.path) == os.path.realpath(earlier.path) for earlier in outputs):
            raise UsageError(f"--output {value}: two reports cannot go to the same file. Name another path.")
        _check_writable(output)
        outputs.append(output)
    return outputs


def write(output: Output, content: str) -> None:
    """Write a report to its file. Raises UsageError if that fails, and leaves the file as it was."""
    write_to(output.path, content, f"{output.format}={output.path}")


def write_to(path: Path, content: str, given: str) -> None:
    """Write content to a file. Raises UsageError, which names `given`, the value of `--output`, if that fails."""
    try:
        write_atomically(path, content.encode())
    except OSError as error:
        raise _unwritable(given, error.strerror or str(error)) from None


def _check_writable(output: Output) -> None:
    """Raise UsageError if the file of a report cannot be written."""
    given, target = f"{output.format}={output.path}", Path(os.path.realpath(output.path))
    if target.is_dir():
        raise _unwritable(given, "it is a directory")
    if not target.parent.is_dir():
        raise _unwritable(given, f"{target.parent} is not a directory that exists")
    try:
        if target.exists() and not target.is_file():
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(0, "Permission denied")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise _unwritable(given, error.strerror or str(error)) from None


def _unwritable(given: str, why: str) -> UsageError:
    return UsageError(
        f"--output {given}: the file cannot be written ({why}). "
        "Choose a path in an existing directory that you may write to."
    )
