"""What an editor offers to do about a line: corrections of problems, and a list or map that becomes a file of its own. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from lsprotocol import types

from reconciler.address import Address
from reconciler.config.source.includes import INCLUDE, Sections
from reconciler.config.source.nodes import FOR_EACH
from reconciler.features.edits.fixes import fixed
from reconciler.features.lsp.checks import HALF_WRITTEN, CheckedProject
from reconciler.features.lsp.place import place_at
from reconciler.features.lsp.text import Text, edits_to
from reconciler.model import Declared, Finding
from reconciler.resource import Kinds
from reconciler.text.escape import terminal
from reconciler.yamltext.entries import ResourcePlace, put
from reconciler.yamltext.line_ends import as_before, plain
from reconciler.yamltext.tree import index

_MEANT: Final = re.compile(r'did you mean "([^"]+)"\?')
_QUOTED: Final = re.compile(r'"([^"]+)"')
_REPEATED: Final = re.compile(r"(?:^|[\s\[,{])[&*][^\s,\]}]", re.MULTILINE)  # an anchor or an alias
PREVIOUSLY: Final = "previously"


@dataclass(frozen=True)
class OfferedChange:
    """Something that an editor can do. `texts`: the new texts of files by name; `creates`: those of them that are new. `fixes`: the finding
    that it corrects, None if it corrects none."""

    title: str
    texts: Mapping[str, str]
    creates: frozenset[str] = frozenset()
    fixes: Finding | None = None


@dataclass(frozen=True)
class Renamed:
    """A key that vanished while another appeared: `old` is no longer declared, `new` was not."""

    old: Address
    new: Declared


def corrections(findings: Iterable[Finding], texts: Mapping[str, Text]) -> Iterator[OfferedChange]:
    """The corrections of findings."""
    for finding in findings:
        if finding.source is None or finding.source.file not in texts:
            continue
        meant = _meant(finding, texts[finding.source.file])
        if meant is not None:
            yield meant
        if finding.fix is not None and (after := fixed_texts([finding], texts)):
            yield OfferedChange(finding.fix.says[:1].upper() + finding.fix.says[1:], after, fixes=finding)


def _meant(finding: Finding, text: Text) -> OfferedChange | None:
    """The word that a message suggests, in place of the one that is written."""
    match = _MEANT.search(finding.message)
    source = finding.source
    if match is None or source is None:
        return None
    range = text.token(source.line, source.column)
    start, end = text.offset(range.start), text.offset(range.end)
    for wrong in reversed(_QUOTED.findall(finding.message[: match.start()])):
        at = text.text.find(wrong, start, max(end, start + len(wrong)))
        if at >= 0:
            after = f"{text.text[:at]}{match[1]}{text.text[at + len(wrong) :]}"
            return OfferedChange(f'Change "{wrong}" to "{match[1]}"', {source.file: after}, fixes=finding)
    return None


def fixed_texts(findings: Sequence[Finding], texts: Mapping[str, Text]) -> dict[str, str]:
    """The texts of the files that the fixes of findings change, as `validate --fix` would."""
    try:
        return fixed({name: text.text for name, text in texts.items()}, findings)[0]
    except HALF_WRITTEN:
        return {}  # half-written


# -- renames that nobody wrote down --------------------------------------------------------------------------------------------------------


def probable_renames(project: CheckedProject, known: Iterable[Address]) -> list[Renamed]:
    """The keys that appeared, each with the one that vanished beside it. `known`: what was declared or tracked before."""
    known = set(known)
    declared = project.resources
    former = {old for resource in declared.values() for old in resource.previously}
    former |= {moved.old for loaded in project.projects.values() for moved in loaded.desired.moved}
    former |= {address for loaded in project.projects.values() for address in (*loaded.desired.removed, *loaded.desired.excluded)}
    vanished: dict[tuple[object, ...], list[Address]] = {}
    for address in known - declared.keys() - former:
        vanished.setdefault(address.parts[:-1], []).append(address)
    renames = []
    for address, resource in declared.items():
        if address in known or resource.implied or resource.previously or len(address.parts) < 2:
            continue
        beside = vanished.get(address.parts[:-1], [])
        if len(beside) == 1:
            renames.append(Renamed(beside[0], resource))
    news = [rename.old for rename in renames]
    return [rename for rename in renames if news.count(rename.old) == 1]


def rename_message(rename: Renamed) -> str:
    """The message about a probable rename."""
    says = f"{rename.new.address} is new, and {rename.old} is no longer declared"
    return terminal(f"{says}: the plan creates one and deletes the other. If it was renamed, write previously: [{rename.old.key}]")


def with_previously(kinds: Kinds, rename: Renamed, text: Text) -> OfferedChange | None:
    """The file that declares a resource, with its former key."""
    at, place = rename.new.source, kinds[rename.new.kind].place
    before = plain(text.text)
    try:
        after = put(before, ResourcePlace(index(before, at.line, at.column), place.tag, place.bare_is), {PREVIOUSLY: [rename.old.key]})
    except HALF_WRITTEN:
        return None
    return OfferedChange(f"It was {rename.old.key}: add previously", {at.file: as_before(after, text.text)})


# -- a list or map as a file ---------------------------------------------------------------------------------------------------------------


def split(sections: Sections, name: str, text: Text, offset: int, is_taken: Callable[[str], bool]) -> OfferedChange | None:
    """The list or map whose key is at an offset, in a file of its own; None if it cannot be split. `is_taken`: whether a file
    exists, or would be included by a pattern."""
    number = text.position(offset).line
    line = text.line(number)
    match = re.match(r"(?P<before>[ ]*(?:- +)*)(?P<key>[A-Za-z]+):\s*(?:#.*)?$", line)
    if match is None or match["key"] not in (*sections.maps, *sections.lists):
        return None
    key, column = match["key"], len(match["before"])
    place = place_at(text, text.starts[number] + match.end("key"))
    if any(FOR_EACH in step.beside for step in place.path) or FOR_EACH in place.beside:
        return None  # files are read before it is evaluated
    last = number
    for below in range(number + 1, len(text.starts)):
        content = text.line(below)
        indent = len(content) - len(content.lstrip(" "))
        listed = key in sections.lists and content[indent:].startswith("-") and indent == column
        if content.strip() and indent <= column and not listed:
            break
        if content.strip():
            last = below
    body = [text.line(below) for below in range(number + 1, last + 1)]
    written = [content for content in body if content.strip()]
    if not written or any("\t" in content[: len(content) - len(content.lstrip())] for content in written):
        return None
    if _REPEATED.search("\n".join(body)) or re.match(rf"\s*{INCLUDE}\s*:", written[0]):
        return None
    by = min(len(content) - len(content.lstrip(" ")) for content in written)
    file = _free(name, key, place.keys, is_taken)
    if file is None:
        return None
    inner = "\n".join(f"  {content[by:]}".rstrip() if content.strip() else "" for content in body)
    end = "\r\n" if "\r\n" in text.text else "\n"
    start = text.starts[number] + match.end("key") + 1
    stop = text.starts[last] + len(text.line(last))
    after = f"{text.text[:start]} {{{INCLUDE}: [{file}]}}{text.text[stop:]}"
    return OfferedChange(f"Split {key} into {file}", {name: after, file: f"{key}:\n{inner}\n".replace("\n", end)}, frozenset({file}))


def _free(name: str, key: str, around: Sequence[str], is_taken: Callable[[str], bool]) -> str | None:
    """A name for a new file, beside the file that it is split from or in a folder with its name; None if there is none."""
    path = PurePosixPath(name)
    near = next((word for word in reversed(around) if re.fullmatch(r"[A-Za-z0-9_-]+", word)), "part")
    folders = (path.parent, path.parent / path.stem, PurePosixPath("parts"))
    names = [(folder / f"{stem}.yaml").as_posix() for folder in folders for stem in (key, f"{near}-{key}", f"{path.stem}-{near}-{key}")]
    return next((file for file in names if not is_taken(file)), None)


def workspace_edit(
    change: OfferedChange, texts: Mapping[str, Text], uri_of: Callable[[str], str], versions: Mapping[str, int]
) -> types.WorkspaceEdit:
    """A change as the protocol has it: new files are created first."""
    parts: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = []
    for name, text in change.texts.items():
        uri = uri_of(name)
        if name in change.creates:
            parts.append(types.CreateFile(uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=False)))
        edits = edits_to(texts[name] if name not in change.creates else Text(""), text)
        parts.append(types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, versions.get(uri)), edits))
    return types.WorkspaceEdit(document_changes=parts)


def plain_edit(change: OfferedChange, texts: Mapping[str, Text], uri_of: Callable[[str], str]) -> types.WorkspaceEdit:
    """A change that creates no file, for an editor that does not know edits with versions."""
    return types.WorkspaceEdit(changes={uri_of(name): edits_to(texts[name], text) for name, text in change.texts.items()})
