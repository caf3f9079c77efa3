"""The requests of an editor, each answered by the module that knows: completion, hover, navigation, renames, actions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from reconciler.address import Address
from reconciler.config.source.includes import sections
from reconciler.errors import ConfigError, ReconcilerError
from reconciler.features.edits.texts import TextSpan
from reconciler.features.lsp import actions, completion, hover, navigation
from reconciler.features.lsp.checking import Checking
from reconciler.features.lsp.session import OpenDocument, OpenProject, Session
from reconciler.features.lsp.text import Text
from reconciler.text.escape import terminal

FAILED: Final = -32803  # RequestFailed of the protocol: the request is right, and cannot be done
FIX_ALL: Final = f"{types.CodeActionKind.SourceFixAll}.reconciler"
TRIGGERS: Final = [":", " ", ".", "/", "{", "[", ",", "-", '"']


def add_features(server: LanguageServer, session: Session, checking: Checking) -> None:
    """Answer what editors ask."""
    _add_texts(server, session, checking)
    _add_navigation(server, session, checking)
    _add_changes(server, session, checking)


def _of(session: Session, uri: str) -> tuple[OpenDocument, OpenProject, str] | None:
    """An open document, its project, and its name in it; None if it belongs to no project."""
    document = session.documents.get(uri)
    project = session.project_of(document.path) if document is not None else None
    if document is None or project is None:
        return None
    return document, project, document.path.relative_to(project.root).as_posix()


def _location(session: Session, project: OpenProject, named: navigation.NamedTexts) -> Callable[[TextSpan], types.Location | None]:
    def location(span: TextSpan) -> types.Location | None:
        path = (project.root / span.file).resolve()
        text = session.text_of(path) if path.is_relative_to(project.root) else None
        return types.Location(session.uri_of(path), named.here(span, text)) if text is not None else None

    return location


def _refuse(error: ReconcilerError) -> JsonRpcException:
    """The reason, and the way past it, as an editor shows them."""
    if isinstance(error, ConfigError):
        first = error.problems[0]
        return JsonRpcException(terminal(f"correct the problems of the project first: {first}"), FAILED)
    return JsonRpcException(terminal(f"{error.message}{f'. {error.hint}' if error.hint else ''}"), FAILED)


def _add_texts(server: LanguageServer, session: Session, checking: Checking) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=TRIGGERS))
    async def complete(params: types.CompletionParams) -> types.CompletionList | None:
        known = _of(session, params.text_document.uri)
        if known is None:
            return None
        document, project, name = known
        checked = await checking.checked(project)
        return completion.completions(session.language, checked, name, document.text, document.text.offset(params.position))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def describe(params: types.HoverParams) -> types.Hover | None:
        known = _of(session, params.text_document.uri)
        if known is None:
            return None
        document, project, name = known
        checked, named = await checking.checked(project), await checking.named(project)
        offset = document.text.offset(params.position)
        return hover.hover(
            session.language, checked, name, document.text, offset, named=named, service_state=session.service_state.of, now=session.now()
        )


def _add_navigation(server: LanguageServer, session: Session, checking: Checking) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def define(params: types.DefinitionParams) -> list[types.Location] | None:
        known = _of(session, params.text_document.uri)
        named = await checking.named(known[1]) if known is not None else None
        if known is None or named is None:
            return None
        document, project, name = known
        offset = document.text.offset(params.position)
        return navigation.definition(named, name, document.text, offset, _location(session, project, named))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def refer(params: types.ReferenceParams) -> list[types.Location] | None:
        known = _of(session, params.text_document.uri)
        named = await checking.named(known[1]) if known is not None else None
        if known is None or named is None:
            return None
        document, project, name = known
        location, declaration = _location(session, project, named), params.context.include_declaration
        offset = document.text.offset(params.position)
        return navigation.references(named, name, document.text, offset, location, declaration=declaration)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
        known = _of(session, params.text_document.uri)
        named = await checking.named(known[1]) if known is not None else None
        return navigation.document_symbols(named, known[2], known[0].text) if known is not None and named is not None else None

    @server.feature(types.WORKSPACE_SYMBOL)
    async def find(params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        symbols: list[types.WorkspaceSymbol] = []
        for project in list(session.projects.values()):
            named = await checking.named(project)
            if named is not None:
                every = navigation.workspace_symbols(named, params.query, _location(session, project, named))
                symbols += islice(every, navigation.SYMBOLS_MAX - len(symbols))
        return symbols


def _add_changes(server: LanguageServer, session: Session, checking: Checking) -> None:
    async def in_thread(work: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(checking.naming, work, *given)

    async def target(uri: str, position: types.Position) -> tuple[OpenDocument, OpenProject, Address, types.Range]:
        known = _of(session, uri)
        named = await checking.named(known[1]) if known is not None else None
        if known is None or named is None:
            raise JsonRpcException("this file belongs to no project that can be read: correct its problems first", FAILED)
        document, project, name = known
        return document, project, *navigation.rename_target(named, name, document.text, document.text.offset(position))

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder:
        try:
            _, project, address, span = await target(params.text_document.uri, params.position)
            # A trial: whether a key can be renamed depends on everything that names it.
            trial = f"{address.key[:40]}{navigation.TRIAL}"
            await in_thread(navigation.rename, project.root, session.kinds, session.unsaved(project.root), address, trial)
        except ReconcilerError as error:
            raise _refuse(error) from None
        return types.PrepareRenamePlaceholder(span, address.key)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        try:
            _, project, address, _ = await target(params.text_document.uri, params.position)
            given = (project.root, session.kinds, session.unsaved(project.root), address, params.new_name)
            texts, after = await in_thread(navigation.rename, *given)
        except ReconcilerError as error:
            raise _refuse(error) from None
        before = {name: session.text(texts.texts[name].removeprefix("\ufeff")) for name in after}
        change = actions.OfferedChange("", {name: text.removeprefix("\ufeff") for name, text in after.items()})
        return _edit(session, project, change, before)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.RefactorExtract, FIX_ALL]),
    )
    async def offer(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        known = _of(session, params.text_document.uri)
        if known is None:
            return None
        document, project, name = known
        await checking.checked(project, fresh=True)
        return _actions(session, project, document, name, params)


def _actions(
    session: Session, project: OpenProject, document: OpenDocument, name: str, params: types.CodeActionParams
) -> list[types.CodeAction]:
    checked = project.checked
    assert checked is not None

    wanted = [str(kind.value if isinstance(kind, types.CodeActionKind) else kind) for kind in params.context.only or ()]

    def is_wanted(kind: str) -> bool:
        return not wanted or any(kind == prefix or kind.startswith(f"{prefix}.") for prefix in wanted)

    texts, lines = session.texts(project), range(params.range.start.line + 1, params.range.end.line + 2)
    offered: list[types.CodeAction] = []

    def add(kind: str, change: actions.OfferedChange | None, *, preferred: bool = False) -> None:
        if change is not None and change.texts:
            known = {name: texts[name] for name in change.texts if name in texts}
            edit = _edit(session, project, change, known)
            about = [each for each in params.context.diagnostics if change.fixes is not None and each.code == change.fixes.name] or None
            offered.append(types.CodeAction(change.title, kind=kind, diagnostics=about, edit=edit, is_preferred=preferred or None))

    quick, extract = types.CodeActionKind.QuickFix.value, types.CodeActionKind.RefactorExtract.value
    here = [finding for finding in checked.found if finding.source is not None and finding.source.file == name]
    if is_wanted(quick):
        for change in actions.corrections([finding for finding in here if finding.source and finding.source.line in lines], texts):
            add(quick, change, preferred=True)
        for rename in session.renames(project):
            if rename.new.source.file == name and rename.new.source.line in lines and name in texts:
                add(quick, actions.with_previously(session.kinds, rename, texts[name]))
    if FIX_ALL in wanted or types.CodeActionKind.SourceFixAll.value in wanted:
        fixable = [finding for finding in here if finding.fix is not None]
        after = actions.fixed_texts(fixable, texts) if fixable else {}
        add(FIX_ALL, actions.OfferedChange("Fix everything that needs no decision", after))
    if session.abilities.creates and is_wanted(extract) and (name in checked.documents or name in texts):
        offset = document.text.offset(params.range.start)
        add(
            extract,
            actions.split(
                sections(session.kinds),
                name,
                document.text,
                offset,
                lambda other: (project.root / other).exists() or checked.includes(other),
            ),
        )
    return offered


def _edit(session: Session, project: OpenProject, change: actions.OfferedChange, texts: Mapping[str, Text]) -> types.WorkspaceEdit:
    def uri_of(name: str) -> str:
        return session.uri_of((project.root / name).resolve())

    if not session.abilities.versioned:
        return actions.plain_edit(change, texts, uri_of)
    versions = {document.uri: document.version for document in session.documents.values()}
    return actions.workspace_edit(change, texts, uri_of, versions)
