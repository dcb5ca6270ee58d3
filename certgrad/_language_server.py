"""A language server: what an audit finds, as diagnostics at the lines of an editor.

The editor starts it and speaks with it over stdin and stdout. It runs `certgrad audit` when the editor opens the folder
and whenever a Python file or pyproject.toml is saved, and publishes what that finds; a save during an audit begins it
anew. The audit is another process, which writes SARIF: the same file that code scanning gets.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lsprotocol import converters, types
from pygls.lsp.server import LanguageServer

import certgrad
from certgrad.report.diagnostics import of_log

SECONDS_TO_END = 5.0
_AUDITED = (0, 1)
"""Exit codes of an audit that is complete."""


class Server(LanguageServer):
    """The server, with the audit that is under way. `options` are those of `certgrad audit`."""

    def __init__(self, options: Sequence[str] = ()) -> None:
        super().__init__("certgrad", certgrad.__version__)
        self.options = [*options]
        self._converter = converters.get_converter()
        self._audit: asyncio.Task | None = None
        self._beginning = asyncio.Lock()
        self._shown: set[str] = set()

    async def begin(self) -> None:
        """Audit now; one that is under way is ended first."""
        async with self._beginning:
            if self._audit is not None and not self._audit.done():
                self._audit.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._audit
            self._audit = asyncio.create_task(self._work())

    async def _work(self) -> None:
        root = Path(self.workspace.root_path or Path.cwd())
        with TemporaryDirectory() as folder:
            log = Path(folder) / "audit.sarif"
            code, said = await self._run(root, log)
            if log.exists():
                self.publish(of_log(log.read_bytes(), root))
            if code not in _AUDITED:
                self.tell(f"certgrad audit exited with {code}: {said or 'it says nothing'}")

    async def _run(self, root: Path, log: Path) -> tuple[int, str]:
        """The exit code, and the last line that is said on stderr."""
        command = ["-P", "-m", "certgrad", "audit", "--quiet", *self.options, "--output", f"sarif={log}"]
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        audit = await asyncio.create_subprocess_exec(
            sys.executable, *command, cwd=root, stdin=nothing, stdout=nothing, stderr=pipe
        )
        try:
            _, said = await audit.communicate()
        except asyncio.CancelledError:
            await _end(audit)
            raise
        lines = said.decode(errors="replace").strip().splitlines()
        return audit.returncode or 0, lines[-1] if lines else ""

    def publish(self, found: dict[str, list[dict[str, Any]]]) -> None:
        """Show what was found, and no more what an earlier audit found in other files."""
        for uri in sorted({*found, *self._shown}):
            diagnostics = [self._converter.structure(one, types.Diagnostic) for one in found.get(uri, [])]
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics))
        self._shown = {*found}

    def tell(self, text: str) -> None:
        """Say why there are no new diagnostics."""
        self.window_show_message(types.ShowMessageParams(type=types.MessageType.Warning, message=text))


async def _end(audit: asyncio.subprocess.Process) -> None:
    if audit.returncode is not None:
        return
    audit.send_signal(signal.SIGINT)
    try:
        await asyncio.wait_for(audit.wait(), SECONDS_TO_END)
    except TimeoutError:
        audit.kill()
        await audit.wait()


def serve(options: Sequence[str] = ()) -> None:
    """Serve the editor at stdin and stdout until it ends the server."""
    made(options).start_io()


def made(options: Sequence[str] = ()) -> Server:
    """A server with its handlers."""
    server = Server(options)

    @server.feature(types.INITIALIZED)
    async def opened(_: types.InitializedParams) -> None:
        await server.begin()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(event: types.DidSaveTextDocumentParams) -> None:
        if event.text_document.uri.endswith((".py", "pyproject.toml")):
            await server.begin()

    return server
