"""What holds for all tests."""

import atexit
import ctypes
import gc
import importlib
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import jax
import pytest

from certgrad import rules
from certgrad.graph.certifying import certify
from certgrad.obligations.conformance import Conformance
from tests.durations import Durations
from tests.sampling import asked_for, excludes_slow

# XLA compiles thousands of small programs here, each run once or twice; optimising them took a quarter of the time.
# They compute the same; `XLA_FLAGS= make test` has them compiled as XLA does by default. Set where the CPU is all that
# there is, and for the release whose flags these are: another one may refuse a flag that it lacks.
_QUICKLY_COMPILED = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
if jax.__version__.startswith("0.10.") and not entry_points(group="jax_plugins"):
    os.environ.setdefault("XLA_FLAGS", _QUICKLY_COMPILED)

# What XLA compiled is read back where a test, another worker or a program that a test starts compiles it again. The
# folder is of this run alone: a run in a fresh clone costs what every run costs.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    _compiled = tempfile.mkdtemp(prefix="certgrad-compiled-")
    atexit.register(shutil.rmtree, _compiled, ignore_errors=True)
    os.environ |= {
        "JAX_COMPILATION_CACHE_DIR": _compiled,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    jax.config.update("jax_compilation_cache_dir", _compiled)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", type=Path, help="write the processor seconds of each test to this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--record-durations")
    if path is not None:
        config.pluginmanager.register(Durations(path))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked `gpu` are skipped, with the reason, where JAX sees no GPU."""
    if item.get_closest_marker("gpu") is not None and jax.default_backend() != "gpu":
        pytest.skip(f"JAX sees no GPU here; it runs on {jax.default_backend()}")


def pytest_collection_finish() -> None:
    """What was imported stays until the end: the collector, which took a tenth of the time, need not go through it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_sessionfinish() -> None:
    """Nor need pytest, which collects ten times before it ends."""
    gc.freeze()


_GROWTH = 300_000_000
"""Bytes that a process may grow by before what JAX keeps is forgotten; each time costs a second or two, of compiling
small programs anew."""
_ENOUGH = 1_100_000_000
"""Nor is it where a process has less than that."""
_held = 0
"""Resident bytes after that was done last."""


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Between modules, whose fixtures may hold compiled programs: JAX keeps every program that was ever compiled."""
    global _held
    if nextitem is None or nextitem.path == item.path:
        return
    if not _held:
        _held = _resident()
    elif _resident() > max(_held + _GROWTH, _ENOUGH):
        jax.clear_caches()
        gc.collect()
        _return_memory()
        _held = _resident()


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say (not Linux)."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _return_memory() -> None:
    """What was freed goes back to the system, where the C library has a call for it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


@pytest.fixture(autouse=True)
def _width_is_left_alone() -> Iterator[None]:
    """No test, and nothing that it calls, leaves JAX's 64-bit numbers on or off for those that come after."""
    before = jax.config.read("jax_enable_x64")
    yield
    after = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", before)
    assert after == before, "64-bit numbers were left on or off"


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`one_in(n)`: of a test's cases every n-th runs by default, the others with `-m slow`, and all that are asked for.

    Where tests marked `slow` are left out, none is made of a case that would be: five in six would be made in vain.
    """
    option = metafunc.config.option
    if metafunc.definition.get_closest_marker("slow") is not None or asked_for(option.keyword, metafunc.config.args):
        return
    marker = metafunc.definition.get_closest_marker("one_in")
    quick = [case for case in metafunc._calls if not any(mark.name == "slow" for mark in case.marks)]
    chosen = quick[:: marker.args[0]] if marker is not None else quick
    if chosen and excludes_slow(option.markexpr):
        metafunc._calls[:] = chosen
        return
    run = {id(case) for case in chosen}
    for case in quick:
        if id(case) not in run:
            case.marks.append(pytest.mark.slow.mark)


@pytest.fixture
def verdicts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks for the likely cause of what is refuted, which takes longer than the verdict: for tests of verdicts.

    Those that read causes, or what is written of them, go without (tests/rules/causes/).
    """
    monkeypatch.setattr(rules, "diagnosed", lambda rule, certificate, made, seconds: ())


@pytest.fixture(scope="module")
def uncompared(request: pytest.FixtureRequest) -> Iterator[None]:
    """A proof is not compared with what happens at numbers and in calls, nor looked at a last time: for tests of the
    calculus, or of what is done with what is proved.

    Both can take a proof away and give none, so that here no wrong rule is left to them. They have tests of their own
    (tests/obligations/conformance, tests/obligations/verify), and are part of most of those of rules and graphs, and of
    all attacks. Nor is a rule looked at outside of its hypotheses, but in a module with `LOOKS_OUTSIDE`.
    """
    audit = importlib.import_module("certgrad.obligations.auditing.audit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "_compared", lambda traces, run, certificate: certificate)
        patch.setattr(audit, "looked_at", lambda traces, certificate: certificate)
        if not getattr(request.module, "LOOKS_OUTSIDE", False):
            patch.setattr(audit, "where_excluded", lambda traces, certificate: certificate)
        patch.setattr(certify, "measured", lambda traced: Conformance(()))
        patch.setattr(certify, "defects", lambda induction, there, fixed, outside: [])
        yield


@pytest.fixture(scope="module")
def proofs_alone(uncompared: None) -> Iterator[None]:
    """As `uncompared`, and nobody looks for the likely cause of what is refuted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "diagnosed", lambda rule, certificate, made, seconds: ())
        yield
