"""The server: messages of the protocol in, answers and diagnostics out, over stdin and stdout. Everything else is in the other modules.

Checks run in one thread beside the loop, so an answer does not wait for them. While somebody types, a check waits until they pause.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from reconciler import __version__
from reconciler.lsp.diagnostics import by_file
from reconciler.lsp.session import OpenProject, Session
from reconciler.resource import Kinds

PAUSE_MIN: Final = 0.02  # seconds without a key before a check
PAUSE_MAX: Final = 0.3
WAIT_MAX: Final = 1.5  # seconds after which somebody who never pauses gets a check all the same
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


class Checking:
    """Checks projects when their documents change, and publishes what is found. `repository`: see `by_file`."""

    def __init__(self, server: LanguageServer, session: Session, repository: str) -> None:
        self.server, self.session, self.repository = server, session, repository
        self.thread = ThreadPoolExecutor(1, "check")
        self.waiting: dict[Path, asyncio.TimerHandle] = {}
        self.since: dict[Path, float] = {}  # when the oldest change without a check was made
        self.running: dict[Path, asyncio.Task[None]] = {}
        self.seconds: dict[Path, float] = {}  # how long the last check took

    def soon(self, project: OpenProject | None) -> None:
        """Check a project once nothing changes for a moment: the longer a check takes, the longer."""
        if project is None:
            return
        loop, now = asyncio.get_running_loop(), time.monotonic()
        root = project.root
        pause = min(max(self.seconds.get(root, 0.0), PAUSE_MIN), PAUSE_MAX)
        left = self.since.setdefault(root, now) + WAIT_MAX - now
        if root in self.waiting:
            self.waiting[root].cancel()
        self.waiting[root] = loop.call_later(max(min(pause, left), 0.0), self._start, project)

    def _start(self, project: OpenProject) -> None:
        root = project.root
        self.waiting.pop(root, None)
        if root in self.running:  # it is checked again when that has ended, with what is typed by then
            self.soon(project)
            return
        self.since.pop(root, None)
        self.running[root] = asyncio.ensure_future(self._check(project))

    async def _check(self, project: OpenProject) -> None:
        began = time.monotonic()
        try:
            loop, unsaved = asyncio.get_running_loop(), self.session.unsaved(project.root)
            versions = {document.uri: document.version for document in self.session.documents.values()}
            project.checked = await loop.run_in_executor(self.thread, self.session.check, project, unsaved)
            if project.root in self.session.projects:
                self._publish(project, versions)
        finally:
            self.seconds[project.root] = time.monotonic() - began
            del self.running[project.root]

    async def settled(self, project: OpenProject) -> None:
        """Wait until a project has been checked at least once."""
        if project.checked is None and project.root not in self.running:
            if project.root in self.waiting:
                self.waiting.pop(project.root).cancel()
            self._start(project)
        if project.checked is None:
            await asyncio.shield(self.running[project.root])

    def _publish(self, project: OpenProject, versions: dict[str, int]) -> None:
        checked = project.checked
        assert checked is not None

        diagnostics = by_file(checked.found, lambda name: self.session.text_of(project.root / name), self.repository)
        published = {self.session.uri_of((project.root / name).resolve()): each for name, each in diagnostics.items()}
        for uri in sorted(project.published - published.keys()):
            published[uri] = []
        # Open documents first, and also those without problems: an editor then knows that they were checked.
        for document in self.session.documents.values():
            if document.path.is_relative_to(project.root):
                published.setdefault(document.uri, [])
        for uri, found in sorted(published.items(), key=lambda item: item[0] not in versions):
            self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, versions.get(uri)))
        project.published = {uri for uri, found in published.items() if found}

    def forget(self, project: OpenProject) -> None:
        """Take back what is published about a project that is closed."""
        if project.root in self.waiting:
            self.waiting.pop(project.root).cancel()
        for uri in sorted(project.published):
            self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        project.published = set()


def create(kinds: Kinds, *, repository: str, now: Callable[[], datetime]) -> LanguageServer:
    """The server with its features. `repository`: where this version of the program is shown in a browser; "" if that is unknown."""
    server = LanguageServer("reconciler", __version__, protocol_cls=_Protocol)
    session = Session(kinds, now)
    checking = Checking(server, session, repository)
    _synchronize(server, session, checking)
    return server


def _synchronize(server: LanguageServer, session: Session, checking: Checking) -> None:
    """Follow what the editor opens, changes, saves and closes."""

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


def serve(kinds: Kinds, *, repository: str, now: Callable[[], datetime]) -> None:
    """Serve on stdin and stdout until the editor ends it."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECTING)
    try:
        # Copies: the library closes them at the end, and the program still has to flush its own.
        with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(1), "wb") as stdout:
            create(kinds, repository=repository, now=now).start_io(stdin, stdout)
    finally:
        gc.set_threshold(*before)
