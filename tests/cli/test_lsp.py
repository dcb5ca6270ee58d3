"""`certgrad lsp`: an editor is told of a refutation at its line, and no more of it when it is mended."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from certgrad.report.audited import RuleResult
from certgrad.report.diagnostics import RuleDiagnostics
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
FAULTY = len(WRONG.splitlines()) - 1


async def spoken(folder: Path) -> dict[str, Any]:
    """What the server publishes of a wrong rule when the folder is opened, shows and offers at it, and publishes after
    the rule is mended and saved; and what it says.
    """
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
    document, inside = types.TextDocumentIdentifier(file.as_uri()), types.Position(LINE + 2, 4)
    hover = await client.text_document_hover_async(types.HoverParams(document, inside))
    outside = await client.text_document_hover_async(types.HoverParams(document, types.Position(0, 0)))
    here = types.Range(inside, inside)
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(document, here, types.CodeActionContext([]))
    )
    file.write_text(WRONG.replace("3 * x", "2 * x"))
    client.text_document_did_save(types.DidSaveTextDocumentParams(document))
    second = await asyncio.wait_for(published.get(), 120)
    while any(one.severity == types.DiagnosticSeverity.Error for one in second.diagnostics):
        second = await asyncio.wait_for(published.get(), 120)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return {
        "first": first,
        "hover": hover,
        "outside": outside,
        "actions": actions,
        "second": second,
        "said": said,
    }


def test_an_editor_is_told_of_a_refutation_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "losses.py").write_text(WRONG)
    found = asyncio.run(spoken(tmp_path))
    first, second = found["first"], found["second"]
    assert first.uri == second.uri == (tmp_path / "losses.py").as_uri()
    (refuted,) = [one for one in first.diagnostics if one.severity == types.DiagnosticSeverity.Error]
    assert (refuted.code, refuted.source, refuted.range.start.line) == ("CG102", "certgrad", FAULTY)
    assert refuted.message.startswith("square: the cotangent of x: ")
    assert "\n" not in refuted.message
    assert found["hover"].contents.value.startswith("**losses:square**: refuted\n\nfor `n d` (inferred)")
    assert found["outside"] is None
    (action,) = found["actions"]
    edits = [(e.range.start.line, e.range.end.line, e.new_text) for e in action.edit.changes[first.uri]]
    assert action.title == "Declare square as it is inferred"
    assert edits == [(0, 0, "import certgrad\n"), (LINE, LINE, '@certgrad.declare("n d", inferred=True)\n')]
    assert not [one for one in second.diagnostics if one.severity == types.DiagnosticSeverity.Error]
    assert found["said"] == []


def test_it_publishes_rule_by_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier audit told of a rule stands until the next tells of it, or ends without it."""
    from certgrad._language_server import build_server

    published: list[tuple[str, list[str]]] = []
    server = build_server()
    monkeypatch.setattr(
        server,
        "text_document_publish_diagnostics",
        lambda p: published.append((Path(p.uri).name, [one.message for one in p.diagnostics])),
    )

    async def audit(*names: str) -> None:
        reader = asyncio.StreamReader()
        for name in names:
            reader.feed_data(msgspec.json.encode(told(tmp_path, name)) + b"\n")
        reader.feed_eof()
        await server._followed(reader)

    asyncio.run(audit("f", "g"))
    asyncio.run(audit("f"))
    assert published == [("a.py", ["f"]), ("a.py", ["f", "g"])]


def told(folder: Path, name: str) -> RuleDiagnostics:
    diagnostic = {"range": {p: {"line": 0, "character": 0} for p in ("start", "end")}, "message": name}
    result = RuleResult(name=f"a:{name}", where="a.py:1", file=str(folder / "a.py"))
    return RuleDiagnostics(result=result, diagnostics=[diagnostic], hover="")


def test_without_pygls_it_says_what_to_install(certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "certgrad._language_server", None)
    done = certgrad("lsp")
    assert done.code == 2
    assert "pip install 'certgrad[lsp]'" in done.err
