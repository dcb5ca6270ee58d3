"""`certgrad lsp`: an editor is told of a refutation at its line, and no more of it when it is mended."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Result

pytest.importorskip("pygls")
from lsprotocol import types
from pygls.lsp.client import LanguageClient

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
WRONG = """import jax


@jax.custom_vjp
def square(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))
"""
LINE = WRONG.splitlines().index("@jax.custom_vjp")


async def spoken(folder: Path) -> tuple[list[types.PublishDiagnosticsParams], list[str]]:
    """What the server publishes of a wrong rule when the folder is opened, and after the rule is mended and saved."""
    client = LanguageClient("an editor", "1")
    published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
    said: list[str] = []

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _(params: types.PublishDiagnosticsParams) -> None:
        published.put_nowait(params)

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    def _(params: types.ShowMessageParams) -> None:
        said.append(params.message)

    environment: dict[str, Any] = {**os.environ, "JAX_PLATFORMS": "cpu"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    await client.start_io(sys.executable, "-P", "-m", "certgrad", "lsp", "losses.py", cwd=folder, env=environment)
    await client.initialize_async(
        types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=folder.as_uri())
    )
    client.initialized(types.InitializedParams())
    first = await asyncio.wait_for(published.get(), 120)
    file = folder / "losses.py"
    file.write_text(WRONG.replace("3 * x", "2 * x"))
    saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(file.as_uri()))
    client.text_document_did_save(saved)
    second = await asyncio.wait_for(published.get(), 120)
    while second.diagnostics and any("refuted" in one.message for one in second.diagnostics):
        second = await asyncio.wait_for(published.get(), 120)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return [first, second], said


def test_an_editor_is_told_of_a_refutation_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text(WRONG)
    (first, second), said = asyncio.run(spoken(tmp_path))
    assert first.uri == second.uri == (tmp_path / "losses.py").as_uri()
    refuted = [one for one in first.diagnostics if one.severity == types.DiagnosticSeverity.Error]
    assert [one.code for one in refuted] == ["CG102"]
    assert refuted[0].range.start.line == LINE
    assert refuted[0].source == "certgrad"
    assert "refuted" in refuted[0].message
    assert "2" in refuted[0].message
    assert "witness" in refuted[0].message
    assert not [one for one in second.diagnostics if one.severity == types.DiagnosticSeverity.Error]
    assert said == []


def test_without_pygls_it_says_what_to_install(certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "certgrad._language_server", None)
    done = certgrad("lsp")
    assert done.code == 2
    assert "pip install 'certgrad[lsp]'" in done.err
