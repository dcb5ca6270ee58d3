"""The cache: served only for the same traces, never for anything else, whatever is in the folder."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad.errors import UsageError
from certgrad.obligations import audit
from certgrad.obligations.auditing import audit as _audit
from certgrad.obligations.cache import Cache, Folder, _files, _folder, _key, entry_name
from certgrad.obligations.cache._cache import Entry, Step
from certgrad.ops._declare import Op
from tests.obligations.traps import declare, hypotheses

ROOT = Path(_audit.__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "cache")


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the ops that were proved, not served."""
    seen: list[str] = []
    prove = _audit._audit

    def counted(traces: Any, reading: Any) -> Any:
        seen.append(traces.op.name)
        return prove(traces, reading)

    monkeypatch.setattr(_audit, "_audit", counted)
    return seen


def linear(factor: Any = 3.0, rule: Any = None) -> Op:
    rule = factor if rule is None else rule
    return declare("*s -> *s", lambda x: x * factor, lambda x, dx: dx * rule)


def entry_of(folder: Folder) -> Path:
    (path,) = folder.path.glob("*.entry")
    return path


def test_a_folder_by_its_name_as_text(tmp_path):
    for folder in (Folder(str(tmp_path)), Cache(str(tmp_path)).folder, Cache(Folder(tmp_path)).folder):
        folder.write("entry", b"kept")
        assert folder.read("entry") == b"kept"
        assert folder.problem == ""


@pytest.mark.parametrize("given", [3, None, b"cache", ["cache"]])
def test_what_is_no_path_is_no_folder(given: Any) -> None:
    for make in (Folder, Cache):
        with pytest.raises(UsageError, match="is no folder: give its path"):
            make(given)


def test_the_same_op_is_traced_but_not_proved_again(
    folder: Folder, proofs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from certgrad.obligations.generality import traces as _traces

    plain = audit(linear())
    first = audit(linear(), Cache(folder))
    traced: list[int] = []
    trace = _traces.trace_rules
    monkeypatch.setattr(_traces, "trace_rules", lambda *a, **k: (traced.append(1), trace(*a, **k))[1])
    second = audit(linear(), Cache(folder))
    assert proofs == ["trap", "trap"]
    assert msgspec.json.encode(plain) == msgspec.json.encode(first) == msgspec.json.encode(second)
    asked = msgspec.msgpack.decode(folder.read(entry_of(folder).stem) or b"", type=Entry).steps
    assert len(traced) == len(asked) > 4


def test_nothing_is_kept_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    audit(linear())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [2.0, np.float64(3.0000000001)])
def test_another_coefficient_in_a_rule(folder: Folder, proofs: list[str], wrong: Any) -> None:
    audit(linear(), Cache(folder))
    assert audit(linear(rule=wrong), Cache(folder)).verdict == "refuted"
    assert len(proofs) == 2


def test_another_helper(folder: Folder, proofs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def by_helper() -> Op:
        return declare("*s -> *s", lambda x: x * x, lambda x, dx: dx * HELPERS["slope"](x))

    monkeypatch.setitem(HELPERS, "slope", lambda x: 2 * x)
    assert audit(by_helper(), Cache(folder)).verdict == "proved"
    monkeypatch.setitem(HELPERS, "slope", lambda x: x)
    assert audit(by_helper(), Cache(folder)).verdict == "refuted"
    assert len(proofs) == 2


HELPERS: dict[str, Callable] = {}


def test_another_captured_constant(folder: Folder, proofs: list[str]) -> None:
    values = np.asarray([1.0, 2.0, 3.0])

    def weighted() -> Op:
        kept = jnp.asarray([1.0, 2.0, 3.0], np.float32)
        return declare("n 3 -> n 3", lambda x: x * kept, lambda x, dx: dx * jnp.asarray(values, np.float32))

    before = audit(weighted(), Cache(folder)).verdict
    values[1] = 2.5
    after = audit(weighted(), Cache(folder)).verdict
    assert len(proofs) == 2
    assert after == "refuted" != before


def test_another_configuration(folder: Folder, proofs: list[str]) -> None:
    audit(linear(), Cache(folder))
    with jax.numpy_rank_promotion("raise"):
        audit(linear(), Cache(folder))
    before = jax.config.values["jax_default_matmul_precision"]
    try:
        jax.config.update("jax_default_matmul_precision", "highest")
        audit(linear(), Cache(folder))
    finally:
        jax.config.update("jax_default_matmul_precision", before)
    assert len(proofs) >= 2
    proofs.clear()
    audit(linear(), Cache(folder))
    assert not proofs


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "changed",
    [
        {"domain": "x > 0"},
        {"params": {"alpha": "alpha > 0"}},
        {"convention": {"x = 0": "3"}},
        {"torch": "torch.relu"},
        {"like": "jax.nn.relu"},
        {"source": "elsewhere"},
    ],
)
def test_another_declaration(folder: Folder, proofs: list[str], changed: dict[str, Any]) -> None:
    def scaled(**options: Any) -> Op:
        return declare(
            "*s -> *s", lambda x, *, alpha=1.0: x * 3.0, lambda x, dx: dx * 3.0, lambda x, seed: seed * 3.0, **options
        )

    audit(scaled(), Cache(folder))
    audit(scaled(**changed), Cache(folder))
    assert len(proofs) == 2


def test_another_kernel(folder: Folder, proofs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kernel.py"
    monkeypatch.setattr(_files, "_PACKAGE", tmp_path)
    monkeypatch.setattr(_key, "package_files", lambda *patterns: [file])
    for text in ("one", "two"):
        file.write_text(text)
        _key._surroundings.cache_clear()
        audit(linear(), Cache(folder))
    _key._surroundings.cache_clear()
    assert len(proofs) == 2
    stale = Cache(folder)
    file.write_text("edited while it ran")
    audit(linear(5.0), stale)
    assert len(list(folder.path.glob("*.entry"))) == 2, "what an edited kernel proved is not known"
    monkeypatch.undo()
    _key._surroundings.cache_clear()


SOURCE = """
import jax.numpy as jnp
from certgrad.ops._declare import op
from certgrad.ops._registry import Registry

def helper(x):
    {branch}
    return x * 2.0

@op("*s -> *s", registry=Registry())
def double(x):
    \"\"\"Twice.\"\"\"
    return helper(x)

@double.jvp
def _(x, dx):
    return helper(dx)

@double.vjp
def _(x, seed):
    return helper(seed)
"""


def test_what_a_search_of_the_source_says(folder: Folder, proofs: list[str], tmp_path: Path) -> None:
    scopes = []
    for k, branch in enumerate(("pass", "if x.ndim > 6: return x", "pass  # the same again")):
        module = load(tmp_path / f"double_{k}.py", SOURCE.format(branch=branch))
        scopes.append(audit(module.double, Cache(folder)).claims[0].cases[0].scope)
    assert scopes[0] == scopes[2] == "all shapes, any rank"
    assert "branches on a rank" in scopes[1]
    assert len(proofs) == 3
    again = load(tmp_path / "double_3.py", SOURCE.format(branch="pass  # and again"))
    audit(again.double, Cache(folder))
    assert len(proofs) == 3, "the text is another, but what the search says of it is not"


def load(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("wrong", ["refuted", "unproved"])
def test_only_what_is_proved_is_kept(folder: Folder, proofs: list[str], wrong: str) -> None:
    refused = declare("n -> n", lambda x: jax.lax.nextafter(x, x), lambda x, dx: dx)
    bad = linear(rule=2.0) if wrong == "refuted" else refused
    for _ in range(2):
        assert audit(bad, Cache(folder)).verdict == wrong
    assert len(proofs) == 2
    assert not folder.path.exists()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in the digest": lambda data: data[:20],
    "cut": lambda data: data[: len(data) // 2],
    "one byte less": lambda data: data[:-1],
    "one byte more": lambda data: data + b"x",
    "a bit": lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
    "foreign": lambda data: b'{"not": "an entry"}',
    "foreign with a right digest": lambda data: whole(b'{"not": "an entry"}'),
    "nested without end": lambda data: whole(b"\x91" * 100_000),
    "oversized": lambda data: whole(b"\x00" * (_folder.MAX_ENTRY + 1)),
}


def whole(entry: bytes) -> bytes:
    """A file that passes as undamaged."""
    return _folder._digest(entry) + entry


@pytest.mark.one_in(6)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_none_and_is_replaced(folder: Folder, proofs: list[str], damage: str) -> None:
    audit(linear(), Cache(folder))
    path = entry_of(folder)
    good = path.read_bytes()
    path.write_bytes(DAMAGE[damage](good))
    assert audit(linear(), Cache(folder)).verdict == "proved"
    assert len(proofs) == 2
    assert path.read_bytes() == good


def test_what_is_no_file_is_no_entry(folder: Folder, proofs: list[str]) -> None:
    audit(linear(), Cache(folder))
    path = entry_of(folder)
    path.unlink()
    os.mkfifo(path)
    audit(linear(), Cache(folder))
    assert path.is_file()
    path.unlink()
    path.mkdir()
    assert audit(linear(), Cache(folder)).verdict == "proved"
    assert len(proofs) == 3


def test_a_verdict_of_another_key_is_never_used(folder: Folder, proofs: list[str]) -> None:
    """A file of a wrong op's name holds a proof of something else, undamaged: the key inside is compared."""
    right, wrong = linear(), linear(rule=2.0)
    audit(right, Cache(folder))
    path = entry_of(folder)
    entry = msgspec.msgpack.decode(path.read_bytes()[32:], type=Entry)
    poisons = [
        entry,  # the same declaration: the traces tell
        msgspec.structs.replace(entry, subject="0" * 40),
        msgspec.structs.replace(entry, steps=[]),
        with_specs(entry, instance=99),
        with_specs(entry, fixed=(("s", "__"),)),
    ]
    for poison in poisons:
        folder.write(entry_name("trap", _key.subject(wrong)), msgspec.msgpack.encode(poison))
        assert audit(wrong, Cache(folder)).verdict == "refuted"
    other = declare("n -> n", lambda x: x + 1.0, lambda x, dx: dx)
    folder.write(entry_name("trap", _key.subject(other)), msgspec.msgpack.encode(entry))
    assert audit(other, Cache(folder)).signature == ["n -> n"]
    assert len(proofs) == 2 + len(poisons)


def with_specs(entry: Entry, **changes: Any) -> Entry:
    steps = [Step(msgspec.structs.replace(s.spec, **changes), s.fingerprint) for s in entry.steps]
    return msgspec.structs.replace(entry, steps=steps)


def test_hypotheses_come_back(folder: Folder, proofs: list[str]) -> None:
    def log() -> Op:
        return declare("*s -> *s", lambda x: jnp.log(x), lambda x, dx: dx / x)

    first, second = (audit(log(), Cache(folder)) for _ in range(2))
    assert len(proofs) == 1
    assert hypotheses(first) == hypotheses(second) != set()
    assert first == second


def test_the_oldest_go_first(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "cache", max_total=1000)
    for k in range(5):
        folder.write(f"e{k}", b"x" * 300)
        os.utime(tmp_path / f"cache/e{k}.entry", (k, k))
    folder.used("e0")
    abandoned, fresh = tmp_path / "cache/.writing-old", tmp_path / "cache/.writing-new"
    abandoned.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(abandoned, (0, 0))
    folder.prune()
    assert [k for k in range(5) if folder.read(f"e{k}")] == [0, 3, 4]
    assert not abandoned.exists()
    assert fresh.exists()
    assert (tmp_path / "cache/.gitignore").read_text().endswith("\n*\n")


@pytest.mark.slow
def test_killed_while_writing(folder: Folder) -> None:
    folder.write("entry", b"old")
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from certgrad.obligations.cache._folder import Folder\n"
        "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "setattr(os, sys.argv[2], die)\n"
        "Folder(Path(sys.argv[1])).write('entry', b'new' * 100_000)\n"
    )
    for moment in ("fsync", "replace"):
        done = subprocess.run([sys.executable, "-c", program, str(folder.path), moment], cwd=ROOT, check=False)
        assert done.returncode == -signal.SIGKILL
        assert folder.read("entry") == b"old"
    for left in folder.path.glob(".writing-*"):
        os.utime(left, (0, 0))
    folder.prune()
    assert sorted(p.name for p in folder.path.iterdir()) == [".gitignore", "entry.entry"]


@pytest.mark.slow
def test_writers_and_readers_at_once(folder: Folder) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from certgrad.obligations.cache._folder import Folder\n"
        "folder = Folder(Path(sys.argv[1]))\n"
        "for k in range(150):\n"
        "    folder.write('entry', bytes([k]) * 50_000)\n"
        "    found = folder.read('entry')\n"
        "    assert found is not None and len(found) == 50_000 and len(set(found)) == 1\n"
        "assert not folder.problem\n"
    )
    command = [sys.executable, "-c", program, str(folder.path)]
    running = [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]


@pytest.mark.parametrize("operation", ["mkstemp", "mkdir"])
def test_a_folder_that_cannot_be_written(
    folder: Folder, proofs: list[str], monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    audit(linear(), Cache(folder))

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    where = _folder.tempfile if operation == "mkstemp" else Path
    monkeypatch.setattr(where, operation, refuse)
    readable = Folder(folder.path)
    assert audit(linear(), Cache(readable)).verdict == "proved"
    assert (len(proofs), readable.problem) == (1, ""), "what is there is still read"
    assert audit(linear(5.0), Cache(readable)).verdict == "proved"
    assert readable.problem == f"{folder.path}: Permission denied"
