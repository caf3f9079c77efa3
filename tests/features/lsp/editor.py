"""An editor: the client of pygls, which talks to a real process of `reconciler lsp` over stdio."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

T = TypeVar("T")
SECONDS: Final = 60  # for any answer: machines that run tests are busy


class Editor:
    """One editor and its server. Positions are those of the protocol."""

    def __init__(
        self,
        *,
        folder: Path | None = None,
        command: tuple[str, ...] = (sys.executable, "-m", "reconciler", "lsp"),
        encodings: Sequence[types.PositionEncodingKind] = (),
        versioned: bool = True,
    ) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("editor", "1")
        self.diagnostics: dict[str, types.PublishDiagnosticsParams] = {}
        self.errors: list[str] = []
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published = asyncio.Event()
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._publish(params))
        self.client.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.errors.append(params.message))
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: None)
        self.wait(self.client.start_io(*command))
        watching = types.WorkspaceClientCapabilities(
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            workspace_edit=types.WorkspaceEditClientCapabilities(
                document_changes=versioned or None, resource_operations=[types.ResourceOperationKind.Create]
            ),
        )
        root = folder.as_uri() if folder is not None else None
        general = types.GeneralClientCapabilities(position_encodings=list(encodings)) if encodings else None
        asked = types.InitializeParams(types.ClientCapabilities(workspace=watching, general=general), process_id=None, root_uri=root)
        self.answer = self.wait(self.client.initialize_async(asked))
        self.client.initialized(types.InitializedParams())

    def _publish(self, params: types.PublishDiagnosticsParams) -> None:
        self.diagnostics[params.uri] = params
        self.published.set()

    def wait(self, awaitable: Awaitable[T]) -> T:
        """The result of something that is awaited."""
        return self.loop.run_until_complete(asyncio.wait_for(awaitable, SECONDS))

    @property
    def pid(self) -> int:
        """The process of the server."""
        server = self.client._server
        assert server is not None
        return server.pid

    def killed(self, number: signal.Signals) -> int:
        """End the server by a signal; its exit code."""
        server = self.client._server
        assert server is not None
        server.send_signal(number)
        code = self.wait(server.wait())
        with suppress(Exception):
            self.wait(self.client.stop())
        self.loop.close()
        return code

    def close(self) -> int:
        """End the server as an editor does; its exit code."""
        server = self.client._server
        assert server is not None
        self.wait(self.client.shutdown_async(None))
        self.client.exit(None)
        code = self.wait(server.wait())
        with suppress(Exception):
            self.wait(self.client.stop())
        self.loop.close()
        return code

    # -- documents

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file, with another text than it has on the disk if one is given; its URI."""
        uri, content = path.as_uri(), path.read_bytes().decode("utf-8") if text is None else text
        self.texts[uri], self.versions[uri] = content, 1
        self.diagnostics.pop(uri, None)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, content)))
        return uri

    def type(self, uri: str, text: str) -> None:
        """Replace the text of a document by another one, as one change of the part that differs."""
        before = self.texts[uri]
        start = next(
            (number for number, (old, new) in enumerate(zip(before, text, strict=False)) if old != new), min(len(before), len(text))
        )
        stop = 0
        while stop < min(len(before), len(text)) - start and before[-1 - stop] == text[-1 - stop]:
            stop += 1
        span = types.Range(position(before, start), position(before, len(before) - stop))
        self.change(uri, text, types.TextDocumentContentChangePartial(span, text[start : len(text) - stop]))

    def change(self, uri: str, text: str, *changes: Any) -> None:
        """Send changes; `text` is the result."""
        self.texts[uri] = text
        self.versions[uri] += 1
        self.diagnostics.pop(uri, None)
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))

    def close_document(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def problems(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of the present text of a document."""

        async def wait() -> list[types.Diagnostic]:
            while uri not in self.diagnostics or self.diagnostics[uri].version not in (None, self.versions.get(uri)):
                self.published.clear()
                await self.published.wait()
            return list(self.diagnostics[uri].diagnostics)

        return self.wait(wait())

    def eventually(self, condition: Callable[[], bool]) -> None:
        """Wait until something is published that fulfils a condition."""

        async def wait() -> None:
            while not condition():
                self.published.clear()
                await self.published.wait()

        self.wait(wait())

    def at(self, uri: str, mark: str, *, by: int = 0) -> types.Position:
        """The position of the first occurrence of a text, `by` characters after its beginning."""
        return position(self.texts[uri], self.texts[uri].index(mark) + by)

    def marked(self, uri: str, range: types.Range) -> str:
        """The text in a range."""
        text = self.texts[uri]
        return text[offset(text, range.start) : offset(text, range.end)]


def position(text: str, offset: int) -> types.Position:
    """The position of an offset, computed in another way than the server does."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    if text[:offset].endswith("\r") and text[offset : offset + 1] == "\n":
        before = before[:-1]
    line = before.rpartition("\n")[2]
    return types.Position(before.count("\n"), sum(2 if ord(character) > 0xFFFF else 1 for character in line))


def offset(text: str, wanted: types.Position) -> int:
    """The offset of a position."""
    return next(number for number in range(len(text) + 1) if position(text, number) == wanted)


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """A text after edits that do not overlap."""
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        text = text[: offset(text, edit.range.start)] + edit.new_text + text[offset(text, edit.range.end) :]
    return text
