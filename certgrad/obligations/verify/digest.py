"""The identity of a traced case: its declaration, and its programs with everything nested in them.

The audit writes this digest into the certificate; `verify` traces the code again and compares. Uses neither terms nor
the calculus, so that both may import it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

from certgrad._subject import Subject
from certgrad.jaxpr.lowerings import identifying_params
from certgrad.signatures.cases import Case

_IGNORED = frozenset(
    "name sharding out_sharding weak_type inline keep_unused donated_invars ctx_mesh jvp_jaxpr_fun fwd bwd".split()
)
"""Parameters that do not change what an equation computes. A derivative rule nested in a program is not run by it."""

Traced = tuple[Any, Sequence[Any]]
"""An open jaxpr and the values of its constants."""


def case_digest(op: Subject, case: Case, programs: Mapping[str, Traced]) -> str:
    """Return the digest of a case of an op: of its signature, structural arguments, parameters, domain and programs."""
    lines = [
        f"op {op.name} broadcast={op.broadcast}",
        f"signature {case.signature} {sorted((k, str(v)) for k, v in case.statics.items())}",
        f"params {list(op.params.items())!r}",
        f"domain {op.declared!r}",
    ]
    for name, (jaxpr, consts) in programs.items():
        lines.append(f"{name} {_Writer().program(jaxpr, consts)}")
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=32).hexdigest()


class _Writer:
    """Writes a jaxpr as text in which variables are numbered in order and nested programs stand in place."""

    def __init__(self) -> None:
        self.sizes: dict[int, tuple[Any, str]] = {}

    def program(self, jaxpr: Any, consts: Sequence[Any]) -> str:
        """Return a program as lines: its inputs, its constants with their values, each equation, its outputs."""
        names: dict[Any, str] = {}
        count = itertools.count()

        def name(v: Any) -> str:
            if isinstance(v, core.Literal):
                return f"{self.array(v.val)}:{self.aval(v.aval)}"
            if v not in names:
                names[v] = f"v{next(count)}:{self.aval(v.aval)}"
            return names[v]

        lines = ["in " + " ".join(map(name, jaxpr.invars))]
        # The lists may differ in length: a program in a parameter of an equation may get its constants as operands, and
        # some programs hold more constants than they name.
        for v, c in itertools.zip_longest(map(name, jaxpr.constvars), map(self.array, consts), fillvalue=""):
            lines.append(f"const {v} = {c}")
        for eqn in jaxpr.eqns:
            params = ",".join(
                f"{k}={self.param(v)}" for k, v in sorted(identifying_params(eqn).items()) if k not in _IGNORED
            )
            operands, results = (" ".join(map(name, side)) for side in (eqn.invars, eqn.outvars))
            lines.append(f"{results} = {eqn.primitive.name}[{params}] {operands}")
        return "\n".join([*lines, "out " + " ".join(map(name, jaxpr.outvars))])

    def aval(self, aval: Any) -> str:
        return f"{getattr(aval, 'dtype', aval)}[{','.join(map(self.size, getattr(aval, 'shape', ())))}]"

    def size(self, dim: Any) -> str:
        """Return a dimension as text. It is kept by object, as symbolic dimensions are slow to print."""
        kept = self.sizes.get(id(dim))
        if kept is None:
            kept = self.sizes[id(dim)] = dim, str(dim)
        return kept[1]

    def array(self, value: Any) -> str:
        dtype = getattr(value, "dtype", None)
        if dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
            return f"{dtype}{self.array(jax.random.key_data(value))}"
        array = np.asarray(value)
        return f"{array.dtype}{array.shape}{array.tobytes().hex()}"

    def param(self, value: Any) -> str:
        """Return a parameter of an equation as text: programs and arrays in it by their content, callables as such."""
        inner = getattr(value, "jaxpr", value)
        if hasattr(inner, "eqns"):
            return "{" + self.program(inner, tuple(getattr(value, "consts", ()) or ())) + "}"
        if isinstance(value, tuple | list):
            return "(" + ",".join(map(self.param, value)) + ")"
        if isinstance(value, frozenset | set):
            return "{" + ",".join(sorted(map(self.param, value))) + "}"
        if isinstance(value, np.ndarray | np.generic):
            return self.array(value)
        return "callable" if callable(value) and not isinstance(value, type) else str(value)
