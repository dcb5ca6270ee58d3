"""What a certificate depends on besides the traces: the declaration, the configuration, the versions, the kernel.

A digest of the kernel's source is in the key, so that an edited kernel never serves what an older one proved.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Sequence
from functools import lru_cache

import jax
import jaxlib
import numpy as np
import scipy
from jax.extend.backend import backends

import certgrad
from certgrad._subject import Subject
from certgrad.obligations.certificate import FORMAT, KERNEL
from certgrad.obligations.generality.rank_blind import dtype_sensitive, rank_sensitive
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.tracing.jax_internals import versions

from ._files import digest, package_files, package_source, source_of, state_of

_SAFE_PATH = re.compile(r"safe_path=\w+,? ?")
"""The flag that says where Python looks for modules. It is no part of a key, as the modules found are in the code's."""


def subject(op: Subject) -> str:
    """Return a digest of an op's declaration, JAX's settings, versions and the kernel: the key of its entry."""
    declaration = [
        op.name,
        [(str(c.signature), sorted((k, str(v), repr(v)) for k, v in c.statics.items())) for c in op.cases],
        op.arg_names,
        list(op.params.items()),
        op.domain,
        op.broadcast,
        list(op.convention.items()),
        op.like,
        op.torch,
        list(op.torch_at.items()),
        op.source,
        sorted((k, repr(v)) for k, v in op.defaults.items()),
        op.kinds,
    ]
    return digest(f"{declaration}\n{_flags()}\n{_surroundings()}".encode(errors="surrogatepass"))


def _flags() -> str:
    """Return JAX's settings, the platforms, and the environment variables that JAX's compiler reads, as text.

    The available platforms count, and not the setting `jax_platforms`: an audit asks there for the CPU, which changes
    nothing where there is no other.
    """
    flags = sorted((k, repr(v)) for k, v in jax.config.values.items() if k != "jax_platforms")
    variables = [(name, os.environ.get(name)) for name in ("XLA_FLAGS", "NVIDIA_TF32_OVERRIDE")]
    return f"{flags}\n{_platforms()}\n{variables}"


def _platforms() -> str:
    """Return the default platform and all available ones as text."""
    try:
        return f"{jax.default_backend()} of {sorted(backends())}"
    except RuntimeError:  # the platform that is asked for does not exist: nothing will run
        return repr(jax.config.values["jax_platforms"])


def package_surroundings() -> str:
    """Return all that a verdict on a rule may depend on beside its code: flags, versions, and certgrad's own text."""
    flags = _SAFE_PATH.sub("", str(sys.flags))
    return f"{_flags()}\n{_surroundings()}\n{package_source()}\n{flags}\n{scipy.__version__}"


def subject_of_composed(op: Subject, digests: Sequence[str]) -> str:
    """Return the key of a composed op: `subject`, digests of its programs, and the source of all ops and of graphs.

    An audit of a composed op traces the rules of its parts at further sizes: these traces follow from that source.
    """
    return digest("\n".join([subject(op), _parts_source(), *digests]).encode())


def of_library(op: Subject) -> bool:
    """Return whether an op is certgrad's own, and with it the ops that it is composed of."""
    return str(op.__module__).startswith(f"{certgrad.__name__}.ops.")


def facts(traces: Traces) -> list[str]:
    """Return what a search of the op's source says of how its code may depend on dtypes and ranks."""
    ranks = [rank_sensitive(traces.op, f.located) for f in traces.families if f.ranked]
    return [dtype_sensitive(traces.op), *ranks]


def known_by_version(op: Subject) -> bool:
    """Return whether all that enters a certificate beside the traces comes from packages with a version in the key.

    That holds for an op (not for a rule in code) that has no convention, or whose `like` names a function of JAX or
    none.
    """
    like = str(op.like or "jax").split(".")[0]
    return op.is_op and (like == "jax" or not op.convention)


@lru_cache(maxsize=1)
def _surroundings() -> str:
    """Return the versions of packages, of Python and of the kernel's source, and the machine's kind, as text."""
    return repr(
        [
            FORMAT,
            KERNEL,
            certgrad.__version__,
            source_of(package_files(*_KERNEL)),
            sorted(versions().items()),
            jaxlib.__version__,
            np.__version__,
            sys.version,
            sys.implementation.cache_tag,
            platform.machine(),
            sys.platform,
        ]
    )


def kernel_state(parts: bool = False) -> list[tuple[str, int, int]]:
    """Return names, sizes and times of the kernel's files, which are quick to compare; [] where one cannot be read.

    With `parts`, of the files of all ops and graphs as well, on which the certificate of a composed op depends.
    """
    return state_of(package_files(*_KERNEL, *(_PARTS if parts else ())))


_KERNEL = (
    "*.py",
    "jaxpr/**/*.py",
    "process/*.py",
    "hypotheses/*.py",
    "obligations/**/*.py",
    "ops/_*.py",
    "signatures/*.py",
)
"""Everything in certgrad that an audit runs, apart from the ops themselves."""
_PARTS = ("ops/[!_]*.py", "graph/**/*.py")


@lru_cache(maxsize=1)
def _parts_source() -> str:
    return source_of(package_files(*_PARTS))
