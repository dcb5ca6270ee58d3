"""`--format` and `--output`: which reports, where to, and writing them whole or not at all."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import certgrad
from certgrad.errors import UsageError
from certgrad.report.files import write_atomically

if TYPE_CHECKING:
    from certgrad.report.audited import Audited


class Format(StrEnum):
    """A format of the audit."""

    text = "text"
    json = "json"
    markdown = "markdown"


@dataclass(frozen=True)
class Output:
    """A report to write to a file."""

    format: Format
    path: Path


def render(
    kind: Format,
    audited: Sequence["Audited"],
    seconds: float,
    *,
    quiet: bool = False,
    width: int | None = None,
    of_jax: bool = False,
    missing: int = 0,
) -> str:
    """The audit in one format. `quiet` and `width` concern text; an audit of JAX itself has pages of its own.
    `missing` rules were found and not audited.
    """
    from certgrad.report import jax, json, markdown, text

    certificates = [entry.certificate for entry in audited]
    match kind:
        case Format.text if of_jax:
            return jax.render(audited, seconds, quiet=quiet, width=width)
        case Format.markdown if of_jax:
            return jax.markdown(certificates)
        case Format.text:
            return text.render(audited, seconds, quiet=quiet, width=width, missing=missing)
        case Format.json:
            return json.render(certificates, certgrad.__version__).decode()
        case Format.markdown:
            return markdown.render(certificates, missing)


def parse(values: Sequence[str]) -> list[Output]:
    """`FORMAT=PATH` values, each checked to be writable before any work is done. Raises UsageError."""
    outputs: list[Output] = []
    for value in values:
        name, mark, path = value.partition("=")
        if not mark or not path or name not in list(Format):
            raise UsageError(
                f"--output {value}: expected FORMAT=PATH with FORMAT one of {', '.join(Format)}, "
                "as in --output json=audit.json."
            )
        output = Output(Format(name), Path(path))
        if any(os.path.realpath(output.path) == os.path.realpath(other.path) for other in outputs):
            raise UsageError(f"--output {value}: two reports cannot go to the same file. Name another path.")
        _check_writable(output)
        outputs.append(output)
    return outputs


def write(output: Output, content: str) -> None:
    """Write the report whole. Raises UsageError, and then leaves what was there."""
    try:
        write_atomically(output.path, content.encode())
    except OSError as error:
        raise _unwritable(output, error.strerror or str(error)) from None


def _check_writable(output: Output) -> None:
    target = Path(os.path.realpath(output.path))
    if target.is_dir():
        raise _unwritable(output, "it is a directory")
    if not target.parent.is_dir():
        raise _unwritable(output, f"{target.parent} is not a directory that exists")
    try:
        if target.exists() and not target.is_file():
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(0, "Permission denied")
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise _unwritable(output, error.strerror or str(error)) from None


def _unwritable(output: Output, why: str) -> UsageError:
    return UsageError(
        f"--output {output.format}={output.path}: the file cannot be written ({why}). "
        "Choose a path in an existing directory that you may write to."
    )
