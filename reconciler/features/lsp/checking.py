"""When a project is checked, and what of it is published: after a pause of whoever types, in one thread beside the loop."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from reconciler.features.lsp.actions import rename_message
from reconciler.features.lsp.checks import CheckedProject
from reconciler.features.lsp.diagnostics import SOURCE, by_file
from reconciler.features.lsp.navigation import NamedTexts
from reconciler.features.lsp.session import OpenProject, Session

PAUSE_MIN: Final = 0.02  # seconds without a key before a check
PAUSE_MAX: Final = 0.3
WAIT_MAX: Final = 1.5  # seconds after which somebody who never pauses gets a check all the same


class Checking:
    """Checks projects when their documents change, and publishes what is found. `repository`: see `by_file`."""

    def __init__(self, server: LanguageServer, session: Session, repository: str) -> None:
        self.server, self.session, self.repository = server, session, repository
        self.thread = ThreadPoolExecutor(1, "check")
        self.naming = ThreadPoolExecutor(1, "names")  # of its own, so that an outline does not delay the problems
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

    async def checked(self, project: OpenProject, *, fresh: bool = False) -> CheckedProject:
        """The project as it was last checked. `fresh`: as it is now, for what changes texts."""
        root = project.root
        while project.checked is None or (fresh and (root in self.waiting or root in self.running)):
            if root not in self.running:
                if root in self.waiting:
                    self.waiting.pop(root).cancel()
                self._start(project)
            await asyncio.shield(self.running[root])
        return project.checked

    async def named(self, project: OpenProject) -> NamedTexts | None:
        """The names of a project as it is now, or as it was when it could last be read."""
        unsaved = self.session.unsaved(project.root)
        project.named = await asyncio.get_running_loop().run_in_executor(self.naming, self.session.index, project, unsaved)
        return project.named

    def _publish(self, project: OpenProject, versions: dict[str, int]) -> None:
        checked = project.checked
        assert checked is not None

        diagnostics = by_file(checked.found, lambda name: self.session.text_of(project.root / name), self.repository)
        published = {self.session.uri_of((project.root / name).resolve()): found for name, found in diagnostics.items()}
        for rename in self.session.renames(project):
            if (text := self.session.text_of(project.root / rename.new.source.file)) is not None:
                uri = self.session.uri_of((project.root / rename.new.source.file).resolve())
                at = text.token(rename.new.source.line, rename.new.source.column)
                hint = types.Diagnostic(at, rename_message(rename), severity=types.DiagnosticSeverity.Information, source=SOURCE)
                published.setdefault(uri, []).append(hint)
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
