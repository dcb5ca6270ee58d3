"""A package in a folder of its own, audited again and again, as by other processes."""

from __future__ import annotations

import importlib
import linecache
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.nn import functions
from jax.interpreters import ad

from certgrad.obligations.cache import Folder
from certgrad.obligations.generality.syntax import _functions_in
from certgrad.report.audited import RuleResult
from certgrad.rules.finding.find import find
from certgrad.rules.judging import by_name
from certgrad.rules.project.configuration import nearest
from certgrad.rules.syntax import files
from certgrad.rules.workers.remembered import Key, Memory
from certgrad.rules.workers.worker import audited

HEAD = """
import jax, jax.numpy as jnp, numpy as np
from functools import partial
import certgrad

def made(value, slope, domain=()):
    f = certgrad.declare("n -> n", domain=domain)(jax.custom_vjp(value))
    f.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))
    return f
"""

TWO = "def slope():\n    return 2.0\n"
Files = dict[str, str]
"""The texts of modules, by name."""
RULE = """
import certgrad, jax, jax.numpy as jnp, numpy as np
{before}

def slope_of(x):
    return ({slope}) if x.shape[0] == 9 else 2.0

@certgrad.declare("n -> n")
@jax.custom_vjp
def rule(x):
    return x * x

rule.defvjp(lambda x: (x * x, x), lambda x, g: (g * slope_of(x) * x,))
"""


def at_9(before: str, slope: str) -> str:
    """A rule of which the slope is another function's at n = 9."""
    return RULE.format(before=before, slope=slope)


class Project:
    """A package `cachedpkg` in a folder of its own, imported anew for each audit, as another process would."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.folder = Folder(root / "cache")
        self.audited: list[str] = []
        self.conformance = False  # quicker, and of no interest here
        (root / "cachedpkg").mkdir()
        self.write("__init__", "")
        examined = by_name.examined

        def counted(found: object, *options: object) -> object:
            self.audited.append(found.name)  # type: ignore[attr-defined]
            return examined(found, *options)  # type: ignore[arg-type]

        monkeypatch.setattr(by_name, "examined", counted)
        monkeypatch.syspath_prepend(root)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        monkeypatch.chdir(root)

    def write(self, module: str, text: str) -> None:
        (self.root / "cachedpkg" / f"{module}.py").write_text(text)

    def forget(self) -> None:
        for name in [n for n in sys.modules if n.partition(".")[0] == "cachedpkg"]:
            del sys.modules[name]
        linecache.clearcache()
        _functions_in.cache_clear()
        files.files_in.cache_clear()
        files.file_at.cache_clear()
        importlib.invalidate_caches()

    def key(self, module: str = "rules") -> Key | None:
        """What `rule` in a module is looked up by; None where its verdict is not kept whatever its traces run."""
        self.forget()
        since = time.time()
        found = next(f for f in find(f"cachedpkg.{module}").rules if f.name == f"cachedpkg.{module}:rule")
        return Memory(self.folder, nearest(self.root).declarations, False, since).key(found)

    def audit(self, module: str = "rules", before: Callable[[], None] = lambda: None) -> Mapping[str, RuleResult]:
        """What comes of the rules of a module; `audited` has the names of those that were not served."""
        self.forget()
        self.audited.clear()
        since = time.time()
        rules = find(f"cachedpkg.{module}").rules
        before()
        table = nearest(self.root).declarations
        memory = Memory(self.folder, table, self.conformance, since)
        return {f.name.partition(":")[2]: audited(f, table, self.conformance, memory) for f in rules}

    def verdict(self, name: str = "rule", **options: Callable[[], None]) -> str:
        result = self.audit(**options)[name]
        return result.certificate.verdict


@contextmanager
def put_back() -> Iterator[None]:
    """What the packages of a test change outside of themselves is as it was afterwards."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(divide="ignore"):
        patch.setattr(jnp, "slope_of_test", None, raising=False)
        patch.setattr(functions, "sigmoid", functions.sigmoid)
        patch.setitem(ad.primitive_jvps, jax.lax.sin_p, ad.primitive_jvps[jax.lax.sin_p])
        yield
    jax.config.update("jax_numpy_rank_promotion", "allow")
