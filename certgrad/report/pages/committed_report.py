"""The committed report as bytes by path: `reports/README.md`, the schema, and a certificate for each op."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from certgrad.errors import UsageError
from certgrad.obligations.certificate import AT_SIZES, Certificate
from certgrad.process.files import write_atomically
from certgrad.report import json, markdown, trust
from certgrad.report.audited import count, open_cases, summary
from certgrad.report.text import block

if TYPE_CHECKING:
    from certgrad.report.pages.blocks import Block

_CERTIFICATES = "certificates"
_GRAPHS = "graphs"
"""The folder of the graphs of composed ops."""


def render(certificates: Sequence[Certificate], blocks: Mapping[str, "Block"] | None = None) -> dict[str, bytes]:
    """Return the files of the report by their paths inside its directory; `blocks` are the composed ops by name."""
    files = {"README.md": _front_page(certificates).encode(), "schema.json": json.schema()}
    files |= {f"{_CERTIFICATES}/{c.op}.json": json.encode(c) for c in certificates}
    if blocks:
        from certgrad.graph import encode
        from certgrad.report.pages import blocks as blocks_page

        files["blocks.md"] = blocks_page.render(blocks).encode()
        files |= {path: encode(graph) for path, graph in blocks_page.graph_files(blocks).items()}
    return files


def _front_page(certificates: Sequence[Certificate]) -> str:
    shown = [block(claim, case) for claim, case in open_cases(certificates)]
    findings = [f"```text\n{text}\n```" for text in shown] or ["None: every obligation is discharged."]
    rows = markdown.table(certificates, link=_CERTIFICATES + "/{op}.json").rstrip("\n")
    sections = [trust.INTRODUCTION, _counts(certificates), trust.OPS, rows, "## Findings", *findings]
    return "\n\n".join(sections) + "\n"


def _counts(certificates: Sequence[Certificate]) -> str:
    counts = count(certificates).items()
    rows = [
        f"| {verdict} | {number} |" for verdict, number in counts if number or verdict not in (AT_SIZES, "surrogate")
    ]
    return "\n".join(["## Counts", "", f"{summary(certificates)}.", "", "| verdict | ops |", "| --- | --- |", *rows])


def write(directory: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write the files that changed, remove certificates and graphs that are left over, and return a line for each.

    Each file is replaced as a whole. Raises UsageError if the directory is not writable.
    """
    changed = stale(directory, files)
    try:
        for path, content in files.items():
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if _read_if_present(target) != content:
                write_atomically(target, content)
        for path in _left_over(directory, files):
            os.unlink(directory / path)
    except OSError as error:
        raise UsageError(
            f"The report cannot be written to {directory}: {error.strerror or error}. "
            "Choose a writable directory with --directory."
        ) from None
    return changed


def stale(directory: Path, files: Mapping[str, bytes]) -> list[str]:
    """Return a line for each file that is missing, out of date or left over; [] if the directory is current."""
    lines = []
    for path, content in files.items():
        present = _read_if_present(directory / path)
        if present is None:
            lines.append(f"{path}: missing")
        elif present != content:
            lines.append(f"{path}: out of date")
    return lines + [f"{path}: left over, no such op" for path in _left_over(directory, files)]


def version_differences(directory: Path, certificates: Sequence[Certificate]) -> list[str]:
    """Return the differences between versions in committed certificates and in these: `jax 0.10.1, now 0.10.2`."""
    differences: dict[str, None] = {}
    for certificate in certificates:
        present = _read_if_present(directory / _CERTIFICATES / f"{certificate.op}.json")
        try:
            committed = json.decode(present or b"").versions
        except msgspec.MsgspecError:
            continue
        for name, version in certificate.versions.items():
            if committed.get(name, version) != version:
                differences[f"{name} {committed[name]}, now {version}"] = None
    return list(differences)


def _left_over(directory: Path, files: Mapping[str, bytes]) -> list[str]:
    folders = (_CERTIFICATES, _GRAPHS)
    present = [f"{folder}/{entry.name}" for folder in folders for entry in sorted((directory / folder).glob("*.json"))]
    return [path for path in present if path not in files]


def _read_if_present(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
