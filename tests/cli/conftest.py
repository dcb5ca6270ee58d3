"""A small fabricated library behind the commands, and a runner."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certgrad.cli import _library, _output, app
from certgrad.obligations.certificate import Certificate
from tests.report import fabricated


@dataclass
class FakeOp:
    """What the commands read of a declaration."""

    name: str
    doc: str = "One line.\n\nMore."
    aliases: tuple[str, ...] = ()
    like: str | None = "jax.nn.relu"
    torch: str | None = None
    broadcast: bool = False
    params: dict = field(default_factory=dict)

    @property
    def cases(self) -> tuple:
        return (self,)

    @property
    def signature(self) -> str:
        return "*s -> *s"


@dataclass
class Library:
    """The fabricated library; a test may replace what an audit returns or raises."""

    certificates: dict[str, Certificate]
    audits: dict[str, Callable[[], Certificate]] = field(default_factory=dict)

    def audit(self, name: str, cache: Path | None = None) -> Certificate:
        return self.audits.get(name, lambda: self.certificates[name])()


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    """sigmoid, relu (alias rectifier) and log, all proved."""
    fake = Library({entry.op: entry for entry in fabricated.PROVED})
    aliases = {"relu": ("rectifier",)}
    monkeypatch.setattr(_library, "names", lambda: list(fake.certificates))
    monkeypatch.setattr(_library, "get", lambda name: FakeOp(name, aliases=aliases.get(name, ())))
    monkeypatch.setattr(_library, "audit_op", fake.audit)
    monkeypatch.setattr(_library, "exhibit", lambda name, certificate: b"")
    monkeypatch.setattr(_library, "blocks", lambda names: {})
    monkeypatch.setattr(_library, "equations", lambda name, kind: ((name, kind),))
    monkeypatch.setattr(_library, "prepare", lambda: None)
    return fake


@pytest.fixture
def everything(library: Library) -> Library:
    """The library with a refuted, an unproved and a surrogate op added."""
    library.certificates.update({entry.op: entry for entry in fabricated.ALL})
    return library


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing says the format it is that of a terminal; `CliRunner` is none."""
    monkeypatch.setattr(_output, "usual", lambda *, verbose=False: _output.Format.text)


@dataclass
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def certgrad() -> Callable[..., Result]:
    """Run the command in this process; a traceback fails the test."""

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        return Result(result.exit_code, result.stdout, result.stderr)

    return run
