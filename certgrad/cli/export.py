"""`certgrad export`: certificates as theorems of Coq, a certified graph as an ONNX model or PyTorch code."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad.cli import _code, _library
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError
from certgrad.obligations.certificate import Certificate

if TYPE_CHECKING:
    from certgrad.coq import File


MAKEFILE = """# Coq's memory is collected less often: a fifth less time.
export OCAMLRUNPARAM ?= {memory}

all:
\tcoq_makefile -f _CoqProject -o Makefile.coq
\t$(MAKE) -k -f Makefile.coq

.PHONY: all
"""


class Program(StrEnum):
    """A program of a graph."""

    forward = "forward"
    value_and_grad = "value_and_grad"
    vjp = "vjp"


def export(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET...]",
            help="With --coq ops of the library and code with rules, as `certgrad audit` takes them; all ops if none "
            "is named. Else, or with --spec, one function, as models/mlp.py:loss.",
        ),
    ] = None,
    coq: Annotated[bool, typer.Option("--coq", help="Certificates of ops and rules as files of Coq.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="With --coq: the folder that is written.")
    ] = Path("coq"),
    onnx: Annotated[
        Path | None, typer.Option("--onnx", metavar="FILE", help="A certified graph as an ONNX model.")
    ] = None,
    torch: Annotated[
        Path | None, typer.Option("--torch", metavar="FILE", help="A certified graph as a Python file for PyTorch.")
    ] = None,
    spec: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME: DIMS", help="The shape of an argument, as `certgrad graph --spec` takes it."),
    ] = None,
    program: Annotated[
        Program, typer.Option(help="With --onnx: what the model computes. A file for PyTorch has both directions.")
    ] = Program.forward,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="A dimension that is a number in what is written. May be repeated."),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --torch: of real numbers; that of the trace by default.")
    ] = None,
) -> None:
    """Write certificates as files of Coq, or a certified graph as an ONNX model or as code for PyTorch.

    With --coq each op, and each rule in the code that is named, is proved first; then its traced forward, JVP and VJP
    are printed as the specification of primitives reads them, its hypotheses as the certificate has them, and each
    obligation as a theorem with the tactic that proves it. Of a function, at the shapes of --spec, and of a composed op
    that is named, the graph is printed: its lemmas, its nodes, and the theorem about the whole. What cannot be printed
    is named in a comment with the reason. Of the whole library the ops that one module declares share a file. Coq
    itself is not needed: `make` in the folder compiles the files where it is installed, and `certgrad verify --kernel
    coq` says which theorems it accepts.

    With --onnx or --torch the function is certified as a graph first, and is written only if it is proved.

    Exit codes: 0 written; 1 the graph is not proved; 2 usage or bad input; 3 internal error; 5 nothing to write.
    """
    named = [name for name, given in (("--coq", coq), ("--onnx", onnx), ("--torch", torch)) if given]
    if not named:
        raise UsageError("name the language: `certgrad export --coq`, `--onnx FILE` or `--torch FILE`.")
    if coq and len(named) > 1:
        raise UsageError(f"--coq is about rules, and {named[1]} about the graph of a function. Name one of them.")
    if coq:
        _to_coq(targets, output, spec or [])
        return
    if not targets or len(targets) > 1:
        raise UsageError(f"{named[0]} takes one function, as in `certgrad export models/mlp.py:loss {named[0]} FILE`.")
    _to_graphs(targets[0], spec or [], onnx, torch, program, _sizes(size or []), dtype)


def _sizes(given: list[str]) -> dict[str, int]:
    """Return the sizes in values `NAME=N`. Raises UsageError for another value."""
    sizes = {}
    for text in given:
        name, mark, number = text.partition("=")
        if not mark or not number.isdigit():
            raise UsageError(f"--size {text}: expected NAME=N, as in --size n=32.")
        sizes[name.strip()] = int(number)
    return sizes


def _to_graphs(
    target: str,
    spec: list[str],
    onnx: Path | None,
    torch: Path | None,
    program: Program,
    sizes: dict[str, int],
    dtype: str | None,
) -> None:
    """Certify the graph of a function and write it as ONNX, as a module for PyTorch, or both.

    Exits with 1 if the graph is not proved.
    """
    _library.prepare()
    from certgrad.accel import NotCertifiedError, compile_graph
    from certgrad.cli.graph import load, specs_of
    from certgrad.exports import export_onnx, export_torch
    from certgrad.graph import trace

    function = load(target)
    try:
        compiled = compile_graph(trace(function, *specs_of(function, target, spec)))
    except NotCertifiedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(ExitCode.REFUTED) from None
    verdict = compiled.certificate.verdict
    if onnx is not None:
        export_onnx(compiled, onnx, program=program.value, sizes=sizes)
        typer.echo(f"{onnx}: {program.value} of {target}, {verdict}")
    if torch is not None:
        export_torch(compiled, torch, sizes=sizes, dtype=dtype)
        typer.echo(f"{torch}: {target} with its backward, {verdict}")


def _to_coq(targets: list[str] | None, output: Path, specs: list[str]) -> None:
    """Write files of Coq for ops and rules, or with `specs` for the graph of the only target."""
    if not specs:
        _write_coq(*_files(targets), output)
        return
    if not targets or len(targets) > 1:
        raise UsageError(
            "--coq with --spec takes one function, as in `certgrad export --coq models/mlp.py:loss --spec …`."
        )
    from certgrad.cli import _coq_graphs

    _library.prepare()
    file, verdict = _coq_graphs.of_function(targets[0], specs)
    if not any(t.statement for t in file.theorems):
        typer.echo(f"nothing to write: {targets[0]} is {verdict}. {file.theorems[0].reason}.", err=True)
        raise typer.Exit(ExitCode.REFUTED)
    _write_coq([], [file], output)


def _files(targets: list[str] | None) -> "tuple[list[File], list[File]]":
    """Return files of Coq for ops of the library, and those for graphs of composed ops and for rules in code.

    Without targets these are all ops, joined by module, without their graphs. Raises UsageError for an unknown op, and
    exits with 5 if there is nothing to write.
    """
    from certgrad.cli import _coq, _coq_graphs, _run
    from certgrad.ops._composed import Composed
    from certgrad.report.audited import certificates_of

    op_names = _library.names()
    ops, code = _code.split_targets(targets or op_names)
    unknown = [name for name in ops if name not in op_names]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is no op of the library. `certgrad list` shows the ops.")
    files = _coq.printed(certificates_of(_run.run(ops))) if ops else []
    if not targets:
        return _families(files), []
    others = []
    for op in map(_library.get, ops):
        others += _coq_graphs.of_composed(op) if isinstance(op, Composed) else []
    for target in code:
        others += _coq.printed(_audited(target), target)
    if not files and not others:
        typer.echo("nothing to write: no rule there has a certificate.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    return files, others


def _families(files: "list[File]") -> "list[File]":
    """Return the files of ops joined by the module that declares them."""
    from certgrad.cli import _coq
    from certgrad.coq import File

    modules: dict[str, list[File]] = {}
    for file in files:
        modules.setdefault(_coq.module_of(file.subject), []).append(file)
    return [
        File(
            module,
            ", ".join(f.subject for f in members),
            tuple(section for f in members for section in f.sections),
            tuple(sorted({requirement for f in members for requirement in f.requires})),
        )
        for module, members in modules.items()
    ]


def _write_coq(ops: "list[File]", others: "list[File]", output: Path) -> None:
    """Write files of Coq, the library that they require, and a Makefile; print a line on stdout.

    Files of `ops` get only the theorems with a known proof, each with that proof; the `others` get all of their
    theorems, each with a search for a proof.
    """
    from certgrad.coq import MEMORY, sources, ways

    library = output / "proofs"
    library.mkdir(parents=True, exist_ok=True)
    for source in sorted(sources().glob("*.v")):
        (library / source.name).write_text(source.read_text())
    proofs, files = ways(), [*ops, *others]
    for file in ops:
        (output / f"{file.name}.v").write_text(file.text(lambda t: t.name in proofs, proofs))
    for file in others:
        (output / f"{file.name}.v").write_text(file.text())
    written = [output / f"{f.name}.v" for f in files]
    written.sort(key=lambda path: -path.stat().st_size)  # the longest file is compiled first
    names = "\n".join([*(f"proofs/{s.name}" for s in sorted(sources().glob("*.v"))), *(p.name for p in written)])
    (output / "_CoqProject").write_text(f"-Q . Exported\n-Q proofs Certgrad\n-arg -w -arg none\n{names}\n")
    (output / "Makefile").write_text(MAKEFILE.format(memory=MEMORY))
    left_out = sum(not t.reason and t.name not in proofs for f in ops for t in f.theorems)
    stated = sum(not t.reason for f in files for t in f.theorems) - left_out
    without = f", without {left_out} of which no proof is known" if left_out else ""
    typer.echo(
        f"{output}: {len(files)} files, {stated} theorems{without}, and the library that they require in {library}"
    )


def _audited(target: str) -> list[Certificate]:
    """Return the certificates of the rules in a target; for a rule without one, the reason is printed on stderr."""
    code = _code.audit([target], _code.limits(_code.configured())).whole()
    for rule in code.rules:
        if rule.certificate is None:
            _code.show([f"{rule.named}: {remark.text}" for remark in rule.remarks])
    return [rule.certificate for rule in code.rules if rule.certificate is not None and not rule.of]
