"""The server: messages of the protocol in, answers and diagnostics out, over stdin and stdout. Everything else is in the other modules.

Checks run in one thread beside the loop, so an answer does not wait for them. While somebody types, a check waits until they pause.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import select
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from reconciler import __version__
from reconciler.features.lsp.checking import Checking
from reconciler.features.lsp.features import add_features
from reconciler.features.lsp.session import Abilities, Session
from reconciler.resource import Kinds

# The program raises the thresholds for runs that end; a server lives for days.
COLLECTING: Final = (50_000, 20, 20)


class _Protocol(LanguageServerProtocol):
    """Without the library's own copies of documents: their lines also end at U+2028 and form feeds, as those of Python."""

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Iterator[Any]:
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None


def create(kinds: Kinds, *, repository: str, now: Callable[[], datetime]) -> LanguageServer:
    """The server with its features. `repository`: where this version of the program is shown in a browser; "" if that is unknown."""
    server = LanguageServer("reconciler", __version__, protocol_cls=_Protocol)
    session = Session(kinds, now)
    checking = Checking(server, session, repository)
    _synchronize(server, session, checking)
    add_features(server, session, checking)
    return server


def _synchronize(server: LanguageServer, session: Session, checking: Checking) -> None:
    """Follow what the editor can do, opens, changes, saves and closes."""

    @server.feature(types.INITIALIZE)
    def introduced(params: types.InitializeParams) -> None:
        session.abilities = Abilities.of(params.capabilities, types.PositionEncodingKind(server.workspace.position_encoding))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        checking.soon(session.open(document.uri, document.text, document.version))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        document = session.documents.get(params.text_document.uri)
        if document is not None:
            document.text = document.text.changed(params.content_changes)
            document.version = params.text_document.version
            checking.soon(session.project_of(document.path))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        document = session.documents.get(params.text_document.uri)
        checking.soon(session.project_of(document.path) if document is not None else None)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        project = session.close(params.text_document.uri)
        if project is not None and project.root not in session.projects:
            checking.forget(project)
        else:
            checking.soon(project)  # what is on the disk counts again

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        for project in list(session.projects.values()):
            checking.soon(project)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*.{yaml,yml,json}")])
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([registration]))


class _Input(io.RawIOBase):
    """Standard input until its end, or until `stop`: the library waits for it in a thread, which no signal interrupts."""

    def __init__(self) -> None:
        self._stopped, self._stop = os.pipe()

    def stop(self) -> None:
        os.write(self._stop, b"x")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._stopped in select.select([0, self._stopped], [], [])[0]:
            return 0
        return os.readv(0, [buffer])

    def close(self) -> None:
        if not self.closed:
            os.close(self._stopped)
            os.close(self._stop)
        super().close()


def serve(
    kinds: Kinds, *, repository: str, now: Callable[[], datetime], stopping: Callable[[Callable[[], object]], AbstractContextManager[None]]
) -> None:
    """Serve on stdin and stdout until the editor ends it. `stopping`: a block in which a signal calls a function."""
    # The library logs each refusal with a traceback on stderr, where an editor may never read it: a full pipe would stop the server. What
    # fails is in the answer.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTING)
    try:
        # A copy: the library closes it at the end, and the program still has to flush its own.
        with _Input() as source, stopping(source.stop), os.fdopen(os.dup(1), "wb") as stdout:
            create(kinds, repository=repository, now=now).start_io(io.BufferedReader(source), stdout)
    finally:
        gc.set_threshold(*before)
