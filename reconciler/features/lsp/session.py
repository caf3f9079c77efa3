"""What an open editor has: the unsaved texts, the projects that they belong to, and what is known of each. Reads files; sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from reconciler.address import Address
from reconciler.config import Project
from reconciler.config.keys import ENVIRONMENTS, PROJECT_FILE
from reconciler.config.source.reader import FILE_MAX
from reconciler.features.lsp.actions import Renamed, probable_renames
from reconciler.features.lsp.checks import CheckedProject, check, nearest
from reconciler.features.lsp.documents import ParsedFiles
from reconciler.features.lsp.language import Language
from reconciler.features.lsp.navigation import NamedTexts, index
from reconciler.features.lsp.service_state import ServiceStates
from reconciler.features.lsp.text import Text
from reconciler.links import LinkRefused, read_file
from reconciler.model import State
from reconciler.resource import Kinds


@dataclass(eq=False)
class OpenDocument:
    """A document that an editor shows. `version`: the editor's."""

    uri: str
    path: Path
    text: Text
    version: int


@dataclass(eq=False)
class OpenProject:
    """A project with at least one open document. `named`: its last index of names. `published`: the documents that have diagnostics, by
    URI."""

    root: Path
    parsed: ParsedFiles = field(default_factory=lambda: ParsedFiles(PROJECT_FILE))
    checked: CheckedProject | None = None
    # What it declared when it could first be read, until there is a state.
    before: frozenset[Address] = frozenset()
    named: NamedTexts | None = None
    published: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Abilities:
    """What an editor can do. `encoding`: of positions. `versioned`: it takes edits that name the versions of documents (`documentChanges`).
    `creates`: such edits may create files."""

    encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16
    versioned: bool = False
    creates: bool = False

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities, encoding: types.PositionEncodingKind) -> Abilities:
        """As the editor declares them. `encoding`: the one that was chosen of those that it offers."""
        workspace = capabilities.workspace
        edits = workspace.workspace_edit if workspace is not None else None
        versioned = edits is not None and bool(edits.document_changes)
        operations = (edits.resource_operations if edits is not None else None) or ()
        return cls(encoding, versioned, versioned and types.ResourceOperationKind.Create in operations)


class Session:
    """The documents and projects of one editor. `now`: the clock. `abilities`: known once the editor has introduced itself."""

    def __init__(self, kinds: Kinds, now: Callable[[], datetime]) -> None:
        self.kinds, self.now = kinds, now
        self.abilities = Abilities()
        self.language = Language(kinds)
        self.service_state = ServiceStates(now)
        self.documents: dict[str, OpenDocument] = {}
        self.projects: dict[Path, OpenProject] = {}

    def open(self, uri: str, text: str, version: int) -> OpenProject | None:
        """Add a document; its project, None where it belongs to none."""
        path = path_of(uri)
        if path is None:
            return None
        self.documents[uri] = OpenDocument(uri, path, self.text(text), version)
        return self.project_of(path)

    def close(self, uri: str) -> OpenProject | None:
        """Remove a document; its project, which is forgotten with its last document."""
        document = self.documents.pop(uri, None)
        project = self.project_of(document.path) if document is not None else None
        # Also those whose folder no longer exists.
        used = {nearest(other.path) for other in self.documents.values()}
        for root in self.projects.keys() - used:
            del self.projects[root]
        return project

    def project_of(self, path: Path) -> OpenProject | None:
        """The project that a file belongs to by its folder."""
        root = nearest(path)
        if root is None:
            return None
        return self.projects.setdefault(root, OpenProject(root))

    def unsaved(self, root: Path) -> Mapping[str, str]:
        """The texts of open documents of a project, which count instead of those on the disk, by the names of their files."""
        documents = (document for document in self.documents.values() if document.path.is_relative_to(root))
        return {document.path.relative_to(root).as_posix(): document.text.text for document in documents}

    def check(self, project: OpenProject, unsaved: Mapping[str, str]) -> CheckedProject:
        """The project as it is now. May run in a thread: it changes only what has been parsed."""
        return check(project.root, self.kinds, parsed=project.parsed, unsaved=unsaved, today=self.now().date(), state_of=self.state_of)

    def state_of(self, project: Project) -> State | None:
        """The state of a project, where that is a file of this machine."""
        service_state = self.service_state.of(project)
        return service_state.state if service_state is not None and service_state.state.bindings else None

    def renames(self, project: OpenProject) -> list[Renamed]:
        """The keys that vanished while others appeared, since the last run or, without a state, since the project was opened."""
        checked = project.checked
        if checked is None or not checked.projects:
            return []
        if not project.before and not checked.found:
            project.before = frozenset(checked.resources)
        states = [state for loaded in checked.projects.values() if (state := self.state_of(loaded)) is not None]
        known = frozenset(address for state in states for address in state.bindings) if states else project.before
        return probable_renames(checked, known)

    def index(self, project: OpenProject, unsaved: Mapping[str, str]) -> NamedTexts | None:
        """The names of a project, as far as they are known. May run in a thread."""
        return index(project.root, self.kinds, unsaved, project.named)

    def texts(self, project: OpenProject) -> dict[str, Text]:
        """The texts of the files of a project by name."""
        checked = project.checked
        names = [PROJECT_FILE]
        if checked is not None:
            names += [*checked.documents, *(f"{ENVIRONMENTS}/{name}.yaml" for name in checked.environments)]
        return {name: text for name in dict.fromkeys(names) if (text := self.text_of(project.root / name)) is not None}

    def text(self, text: str) -> Text:
        """A text with positions as this editor counts them."""
        return Text(text, self.abilities.encoding)

    def text_of(self, path: Path) -> Text | None:
        """The text of a file as the editor has it, else as it is on the disk; None if it is not a text."""
        for document in self.documents.values():
            if document.path == path:
                return document.text
        try:
            content = read_file(path, FILE_MAX)
            return self.text(content.decode("utf-8-sig")) if len(content) <= FILE_MAX else None
        except (OSError, ValueError, LinkRefused):
            return None

    def uri_of(self, path: Path) -> str:
        """The URI of a file, as the editor spells it if it shows it."""
        return next((document.uri for document in self.documents.values() if document.path == path), path.as_uri())


def path_of(uri: str) -> Path | None:
    """The path of a file with links resolved; None if it is not a file of this machine."""
    try:
        parts = urlsplit(uri)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            return None
        return Path(unquote(parts.path)).resolve()
    except (ValueError, OSError, RuntimeError):
        return None
