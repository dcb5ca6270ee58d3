"""Access of the commands to the op library. The kernel and JAX are imported on first use."""

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.errors import UnknownOpError

if TYPE_CHECKING:
    from certgrad.obligations.cache import Cache
    from certgrad.obligations.certificate import Certificate
    from certgrad.ops._declare import Op
    from certgrad.report.audited import RuleResult
    from certgrad.report.pages.blocks import Block


def prepare() -> None:
    """Make JAX use the CPU, before it is imported: proofs only trace, and must not depend on devices."""
    os.environ["JAX_PLATFORMS"] = "cpu"


def names() -> list[str]:
    """Return the ops of the library, in declaration order."""
    prepare()
    from certgrad.ops import registry

    return list(registry.names())


def all_proved() -> list[str]:
    """Return the names of all ops, with a note on stderr that they are going to be proved."""
    ops = names()
    typer.echo(
        f"note: proving the {len(ops)} ops of certgrad's own library; `certgrad audit PATH` audits rules of yours",
        err=True,
    )
    return ops


def has(name: str) -> bool:
    """Return whether an op has this name or alias.

    A name that is nowhere in the text of the library is none, so that JAX is not imported for most other names.
    """
    text = _text_of_ops()  # empty if the source is not installed
    return (not text or bool(re.search(rf"\b{re.escape(name)}\b", text))) and (name in names() or name in aliases())


@lru_cache(maxsize=1)
def _text_of_ops() -> str:
    files = (Path(__file__).parents[1] / "ops").glob("*.py")
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def get(name: str) -> "Op":
    """Return the op of that name or alias."""
    prepare()
    from certgrad.ops import registry

    return registry.get(name)


def audit_op(name: str, cache: Path | None = None) -> "Certificate":
    """Return the certificate of an op; with a folder, use and fill the cache there."""
    prepare()
    from certgrad import audit_op as prove

    return prove(name) if cache is None else prove(name, _cache(cache))


def exhibit(name: str, certificate: "Certificate") -> bytes:
    """Return the encoded exhibit of an op: what a page shows beside its certificate."""
    prepare()
    from certgrad.exhibits import exhibit as shown
    from certgrad.exhibits import with_plots
    from certgrad.exhibits.data import encode

    op = get(name)
    return encode(with_plots(shown(op, op.doc or ""), op, certificate))


def graphs(name: str) -> list[bytes]:
    """Return the certified graph of each case of a composed op, encoded; [] for another op."""
    prepare()
    from certgrad.graph import encode
    from certgrad.graph.certifying.composed import certified
    from certgrad.ops._composed import Composed

    op = get(name)
    return [encode(one) for one in certified(op)] if isinstance(op, Composed) else []


def blocks(results: "Iterable[RuleResult]") -> "dict[str, Block]":
    """Return the composed ops among the results by name, each with its graphs."""
    from certgrad.graph import decode
    from certgrad.report.pages.blocks import Block

    composed = [(get(one.name), one.graphs) for one in results if one.graphs]
    return {
        op.name: Block(op.doc or "", list(zip(map(str, op.cases), map(decode, encoded), strict=True)))
        for op, encoded in composed
    }


def jax_rules() -> list[str]:
    """Return the names of primitives and functions of the installed JAX that an audit has a verdict on."""
    prepare()
    from certgrad.jax_rules import names

    return names()


def jax_rules_without_derivative() -> dict[str, list[str]]:
    """Return the primitives of JAX whose rule has no derivative to be compared with, by the reason."""
    prepare()
    from certgrad.jax_rules import subjects

    by_reason: dict[str, list[str]] = {}
    for subject in subjects():
        if subject.without:
            by_reason.setdefault(subject.without, []).append(subject.name)
    return by_reason


def jax_version() -> str:
    """Return the version of the installed JAX."""
    prepare()
    import jax

    return jax.__version__


def audit_jax_rule(name: str, cache: Path | None = None) -> "Certificate":
    """Return the certificate of a primitive or function of JAX; with a folder, use and fill the cache there."""
    prepare()
    from certgrad.jax_rules import audit

    return audit(name) if cache is None else audit(name, _cache(cache))


@lru_cache(maxsize=4)
def _cache(folder: Path) -> "Cache":
    from certgrad.obligations.cache import Cache, Folder

    return Cache(Folder(folder))


def cache_problem(folder: Path | None) -> str:
    """Return why the cache in the folder could not be written; "" if it could, or there is none."""
    return "" if folder is None else _cache(folder).folder.problem


def tidy_cache(folder: Path, problem: str) -> None:
    """Bring the cache to its size limit, and warn on stderr if there was a `problem` in writing it."""
    from certgrad.obligations.cache import Folder

    Folder(folder).prune()
    if problem:
        typer.echo(
            f"warning: the cache could not be written ({problem}). The audit is complete; the next one will not be "
            "faster. Name another folder with --cache-dir, or use --no-cache.",
            err=True,
        )


def equations(name: str, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the equations of an obligation, each as its two sides; () for a composed op, as its parts have them."""
    prepare()
    from certgrad.obligations import obligation
    from certgrad.ops._composed import Composed

    return () if isinstance(get(name), Composed) else obligation(name, kind).sides


def aliases() -> dict[str, str]:
    """Return the other names of ops, each with the name of its op."""
    return {alias: name for name in names() for alias in get(name).aliases}


def resolve(name: str, also: Iterable[str] = (), *, code: bool = False) -> str:
    """Return the op of that name or alias.

    Raises UnknownOpError, which names close matches among ops, `also`, and with `code` the modules and files here.
    """
    op_names, op_aliases = names(), aliases()
    if name in op_names:
        return name
    if name in op_aliases:
        return op_aliases[name]
    close = get_close_matches(name.lower(), [*op_names, *op_aliases], n=3, cutoff=0.6)
    close += get_close_matches(name.upper(), list(also), n=2, cutoff=0.6)
    close = [*(get_close_matches(name, _modules_here(), n=1, cutoff=0.8) if code else ()), *close]
    hint = f"Did you mean {_either(close)}? " if close else ""
    if any(character in name for character in "*?["):
        hint = f"For a pattern use --select '{name}'. "
    description = "an op of the library" + (
        ", nor a code" if also else ", and no module or file of that name is found" if code else ""
    )
    raise UnknownOpError(f"'{name}' is not {description}. {hint}`certgrad list` shows all {len(op_names)} ops.")


def _modules_here() -> list[str]:
    """Return the names of packages and modules in the working directory and in `src`."""
    files = [path for folder in (Path(), Path("src")) if folder.is_dir() for path in folder.iterdir()]
    return [path.stem for path in files if path.suffix == ".py" or (path / "__init__.py").is_file()]


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
