"""A language server: what an audit finds, as diagnostics at the lines of an editor, rule by rule.

The editor starts it and speaks with it over stdin and stdout. It runs `certgrad audit` when the editor opens the folder
and whenever a Python file or pyproject.toml is saved, and publishes what that finds of each rule as soon as it is
known; a save during an audit begins it anew. The audit is another process, which prints a line of JSON for each rule.
At a rule it shows the verdict and the hypotheses, and offers to write what `certgrad audit --fix` writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import msgspec
from lsprotocol import converters, types
from pygls.lsp.server import LanguageServer

import certgrad
from certgrad.report.diagnostics import RuleDiagnostics
from certgrad.rules.declared.fix import function_at, with_declarations
from certgrad.rules.project.marked import of_result

SECONDS_TO_END = 5.0
LONGEST_LINE = 2**26
"""Bytes of a line of an audit: it holds a certificate."""
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
        self._rules: dict[str, RuleDiagnostics] = {}
        """By name: what the last audit told of each, or that before it where the last is not done."""
        self._published: dict[str, list[types.Diagnostic]] = {}

    async def begin(self) -> None:
        """Audit now; one that is under way is ended first."""
        async with self._beginning:
            if self._audit is not None and not self._audit.done():
                self._audit.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._audit
            self._audit = asyncio.create_task(self._work())

    async def _work(self) -> None:
        code, said, names = await self._run(Path(self.workspace.root_path or Path.cwd()))
        if code in _AUDITED:
            self._rules = {name: told for name, told in self._rules.items() if name in names}
            self.publish()
        else:
            self.tell(f"certgrad audit exited with {code}: {said or 'it says nothing'}")

    async def _run(self, root: Path) -> tuple[int, str, set[str]]:
        """Run an audit; return its exit code, the last line on stderr, and the names of the rules that were
        reported.
        """
        command = ["-P", "-m", "certgrad", "audit", "--quiet", "--follow", *self.options]
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        audit = await asyncio.create_subprocess_exec(
            sys.executable, *command, cwd=root, stdin=nothing, stdout=pipe, stderr=pipe, limit=LONGEST_LINE
        )
        assert audit.stdout is not None
        assert audit.stderr is not None
        try:
            names, said = await asyncio.gather(self._followed(audit.stdout), audit.stderr.read())
            await audit.wait()
        except asyncio.CancelledError:
            await _end(audit)
            raise
        lines = said.decode(errors="replace").strip().splitlines()
        return audit.returncode or 0, lines[-1] if lines else "", names

    async def _followed(self, lines: asyncio.StreamReader) -> set[str]:
        """Publish the diagnostics of each rule as an audit prints them; return the rules' names."""
        names: set[str] = set()
        async for line in lines:
            try:
                told = msgspec.json.decode(line, type=RuleDiagnostics)
            except msgspec.MsgspecError:  # a plugin may print as well
                continue
            names.add(told.result.name)
            self._rules[told.result.name] = told
            self.publish()
        return names

    def publish(self) -> None:
        """Publish the diagnostics of each file in which they changed."""
        of_file: dict[str, list[types.Diagnostic]] = {uri: [] for uri in self._published}
        for told in self._rules.values():
            own = of_file.setdefault(_uri(told), [])
            own += [self._converter.structure(one, types.Diagnostic) for one in told.diagnostics]
        for uri, diagnostics in of_file.items():
            if diagnostics != self._published.get(uri, []):
                self._published[uri] = diagnostics
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics))

    def at(self, uri: str, position: types.Position) -> Iterator[RuleDiagnostics]:
        """Yield the rules whose function is at a place of a document."""
        source = self.workspace.get_text_document(uri).source.encode()
        for told in self._rules.values():
            if _uri(told) == uri and (lines := function_at(source, told.result.place.line)) is not None:
                if lines[0] <= position.line + 1 <= lines[1]:
                    yield told

    def actions(self, uri: str, position: types.Position) -> Iterator[types.CodeAction]:
        """What `certgrad audit --fix` would write beside the rules at a place, as edits of the document."""
        source = self.workspace.get_text_document(uri).source.encode()
        for told in self.at(uri, position):
            wanted = of_result(told.result)
            changed = with_declarations(source, [wanted])[0] if wanted is not None else source
            if changed != source:
                yield types.CodeAction(
                    title=f"Declare {told.result.name.rpartition(':')[2]} as it is inferred",
                    kind=types.CodeActionKind.QuickFix,
                    edit=types.WorkspaceEdit(changes={uri: _edits(source, changed)}),
                )

    def tell(self, text: str) -> None:
        """Say why there are no new diagnostics."""
        self.window_show_message(types.ShowMessageParams(type=types.MessageType.Warning, message=text))


def _uri(told: RuleDiagnostics) -> str:
    return Path(told.result.place.file).as_uri()


def _edits(before: bytes, after: bytes) -> list[types.TextEdit]:
    """Return the lines that differ, as edits."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return [
        types.TextEdit(
            types.Range(types.Position(a, 0), types.Position(b, 0)), b"".join(new[c:d]).decode(errors="replace")
        )
        for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


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
    build_server(options).start_io()


def build_server(options: Sequence[str] = ()) -> Server:
    """Return a server that audits when an editor opens a folder or saves a file, and answers for findings and mends."""
    server = Server(options)

    @server.feature(types.INITIALIZED)
    async def opened(_: types.InitializedParams) -> None:
        await server.begin()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(event: types.DidSaveTextDocumentParams) -> None:
        if event.text_document.uri.endswith((".py", "pyproject.toml")):
            await server.begin()

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        texts = [told.hover for told in server.at(params.text_document.uri, params.position)]
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(texts))) if texts else None

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def offered(params: types.CodeActionParams) -> list[types.CodeAction]:
        return [*server.actions(params.text_document.uri, params.range.start)]

    return server
