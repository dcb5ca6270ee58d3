"""The op library as the commands see it. The kernel and JAX are imported on first use, not when the command starts."""

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
    """Keep JAX on the CPU, before it is first imported: a proof only traces, and must not depend on the devices."""
    os.environ["JAX_PLATFORMS"] = "cpu"


def names() -> list[str]:
    """Return the ops of the library, in declaration order."""
    prepare()
    from certgrad.ops import registry

    return list(registry.names())


def all_proved() -> list[str]:
    """Prove all ops and return their names, with a note on stderr that this takes long."""
    found = names()
    typer.echo(
        f"note: proving the {len(found)} ops of certgrad's own library; `certgrad audit PATH` audits rules of yours",
        err=True,
    )
    return found


def has(name: str) -> bool:
    """Return whether an op has this name or alias; for most other names JAX need not be imported."""
    text = _text_of_ops()  # empty where it is not to be had
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
    """Prove the op; with a folder, use and fill the cache in it."""
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
    """Return the certified graph of each case of a composed op, encoded; none of another op."""
    prepare()
    from certgrad.graph import encode
    from certgrad.graph.certifying.composed import certified
    from certgrad.ops._composed import Composed

    op = get(name)
    return [encode(one) for one in certified(op)] if isinstance(op, Composed) else []


def blocks(results: "Iterable[RuleResult]") -> "dict[str, Block]":
    """Return the composed ops among what was audited, with their graphs."""
    from certgrad.graph import decode
    from certgrad.report.pages.blocks import Block

    found = [(get(one.name), one.graphs) for one in results if one.graphs]
    return {
        op.name: Block(op.doc or "", list(zip(map(str, op.cases), map(decode, encoded), strict=True)))
        for op, encoded in found
    }


def jax_rules() -> list[str]:
    """Return the primitives and functions of the installed JAX on which an audit of it has a verdict."""
    prepare()
    from certgrad.jax_rules import names

    return names()


def jax_rules_without_derivative() -> dict[str, list[str]]:
    """Return the primitives of JAX that have a rule and no derivative to be right or wrong, by the reason."""
    prepare()
    from certgrad.jax_rules import subjects

    found: dict[str, list[str]] = {}
    for subject in subjects():
        if subject.without:
            found.setdefault(subject.without, []).append(subject.name)
    return found


def jax_version() -> str:
    """Return the version of the installed JAX."""
    prepare()
    import jax

    return jax.__version__


def audit_jax_rule(name: str, cache: Path | None = None) -> "Certificate":
    """Prove the rules of a primitive or function of JAX; with a folder, use and fill the cache in it."""
    prepare()
    from certgrad.jax_rules import audit

    return audit(name) if cache is None else audit(name, _cache(cache))


@lru_cache(maxsize=4)
def _cache(folder: Path) -> "Cache":
    from certgrad.obligations.cache import Cache, Folder

    return Cache(Folder(folder))


def cache_problem(folder: Path | None) -> str:
    """Return why the cache in the folder could not be written, or ""."""
    return "" if folder is None else _cache(folder).folder.problem


def tidy_cache(folder: Path, problem: str) -> None:
    """Bound the cache, and say so if it could not be written."""
    from certgrad.obligations.cache import Folder

    Folder(folder).prune()
    if problem:
        typer.echo(
            f"warning: the cache could not be written ({problem}). The audit is complete; the next one will not be "
            "faster. Name another folder with --cache-dir, or use --no-cache.",
            err=True,
        )


def equations(name: str, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the obligation's equations, each as its two sides; none of a composed op, whose parts have them."""
    prepare()
    from certgrad.obligations import obligation
    from certgrad.ops._composed import Composed

    return () if isinstance(get(name), Composed) else obligation(name, kind).sides


def aliases() -> dict[str, str]:
    """Other names of ops, each with the op that it names."""
    return {alias: name for name in names() for alias in get(name).aliases}


def resolve(name: str, also: Iterable[str] = (), *, code: bool = False) -> str:
    """The op that `name` means, by name or alias. Raises UnknownOpError with close matches, `also` among them; with
    `code` the name was looked for among modules and files as well.
    """
    known, other = names(), aliases()
    if name in known:
        return name
    if name in other:
        return other[name]
    close = get_close_matches(name.lower(), [*known, *other], n=3, cutoff=0.6)
    close += get_close_matches(name.upper(), list(also), n=2, cutoff=0.6)
    close = [*(get_close_matches(name, _modules_here(), n=1, cutoff=0.8) if code else ()), *close]
    hint = f"Did you mean {_either(close)}? " if close else ""
    if any(character in name for character in "*?["):
        hint = f"For a pattern use --select '{name}'. "
    what = "an op of the library" + (
        ", nor a code" if also else ", and no module or file of that name is found" if code else ""
    )
    raise UnknownOpError(f"'{name}' is not {what}. {hint}`certgrad list` shows all {len(known)} ops.")


def _modules_here() -> list[str]:
    """Return the packages and modules that lie here or in `src`."""
    files = [path for folder in (Path(), Path("src")) if folder.is_dir() for path in folder.iterdir()]
    return [path.stem for path in files if path.suffix == ".py" or (path / "__init__.py").is_file()]


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
