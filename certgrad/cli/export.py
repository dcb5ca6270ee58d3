"""`certgrad export`: the certificates of the library as theorems of Coq."""

from pathlib import Path
from typing import Annotated

import typer

from certgrad.cli import _library
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError


def export(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET...]", help="Ops of the library; all if none is named.")
    ] = None,
    coq: Annotated[bool, typer.Option("--coq", help="As files of Coq: the only language so far.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder that is written.")] = Path(
        "coq"
    ),
) -> None:
    """Write the certificates of ops as files of Coq, with the library that they require.

    Each op is proved first; then its traced forward, JVP and VJP are printed as the specification of primitives reads
    them, its hypotheses as the certificate has them, and each obligation as a theorem with the tactic that proves it.
    What cannot be printed is named in a comment with the reason. Coq itself is not needed: `make` in the folder
    compiles the files where it is installed, and `certgrad verify --kernel coq` says which theorems it accepts.

    Exit codes: 0 written; 2 usage or bad input; 3 internal error; 5 nothing to write.
    """
    from certgrad.cli import _coq, _run
    from certgrad.coq import sources

    if not coq:
        raise UsageError("name the language: `certgrad export --coq`.")
    known = _library.names()
    unknown = [name for name in targets or () if name not in known]
    if unknown:
        raise UsageError(f"'{unknown[0]}' is no op of the library. `certgrad list` shows the ops.")
    files = _coq.printed([entry.certificate for entry in _run.run(targets or known)])
    if not files:
        typer.echo("nothing to write: composed ops are certified as graphs, which are not printed yet.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    library = output / "proofs"
    library.mkdir(parents=True, exist_ok=True)
    for source in sorted(sources().glob("*.v")):
        (library / source.name).write_text(source.read_text())
    for file in files:
        (output / f"{file.name}.v").write_text(file.text())
    names = "\n".join([*(f"proofs/{s.name}" for s in sorted(sources().glob("*.v"))), *(f"{f.name}.v" for f in files)])
    (output / "_CoqProject").write_text(f"-Q proofs Certgrad\n-Q . Exported\n-arg -w -arg none\n{names}\n")
    (output / "Makefile").write_text(
        "all:\n\tcoq_makefile -f _CoqProject -o Makefile.coq\n\t$(MAKE) -k -f Makefile.coq\n\n.PHONY: all\n"
    )
    stated = sum(not t.reason for f in files for t in f.theorems)
    typer.echo(f"{output}: {len(files)} files, {stated} theorems, and the library that they require in {library}")
