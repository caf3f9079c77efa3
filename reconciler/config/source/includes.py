"""The files that a project includes, as a whole or for the contents of one map or list, and the texts of all of them.

In: the names and patterns of `include`. Out: files below the project, their nodes, their texts. A path out of the project, by `..`, an
absolute path or a link, is a problem, and so is a pattern that matches nothing: a file that went missing must not empty a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from reconciler.address import Address
from reconciler.config.environments.folder import files
from reconciler.config.keys import ENVIRONMENTS, IGNORED, is_encrypted, project_file
from reconciler.config.source.files import Files, unreadable
from reconciler.config.source.nodes import HOLE_OPENING, List, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Enough, Problems, described, empty, items_of, shown, wrong_form
from reconciler.config.source.reader import FILE_MAX
from reconciler.config.source.walk import NotWalked, files_matching
from reconciler.errors import ConfigError
from reconciler.links import leads_out, read_file
from reconciler.model import Source
from reconciler.resource import Kinds
from reconciler.text.escape import is_plain, terminal
from reconciler.text.names import did_you_mean
from reconciler.text.patterns import FILE_MARKS, PathPattern, pattern_problem

# `**/*` in the root of a repository with node_modules matches more files than anybody wants to wait for.
FILES_MAX = 10_000  # matches of one pattern
SEED_FILE = "sandbox.seed.yaml"  # the seed of the sandbox; beside the project file, never part of the project
BESIDE_MAX = 1_000  # files that are searched for the intended one


def included(root: Path, project_file: str, entry: MapEntry | None, problems: Problems) -> dict[str, Source]:
    """The included files, relative to the project, each with the pattern that names it first, in the order of the patterns and sorted
    within each."""
    if entry is None:
        return {}
    sources: dict[str, Source] = {}
    for node in items_of(entry, "a list of files", f"write {_listed(entry.node)}", problems.add):
        for name in named(root, project_file, node, problems):
            sources.setdefault(name, node.at)
    return sources


def is_encrypted_document(document: Map, problems: Problems) -> bool:
    """Whether an included file is one that SOPS encrypted, which is reported."""
    mark = document.entries.get("sops")
    if mark is not None:
        wrong = "this file is encrypted: name it with secrets: FILE instead of include, and end its name in .enc.yaml"
        problems.add(mark.at, wrong, id="RC-encrypted-include")
    return mark is not None


def _listed(node: Node) -> str:
    """The same value as a list."""
    return f"[{node.text}]" if isinstance(node, Scalar) and node.text and node.text.isprintable() and len(node.text) < 60 else "[…]"


def named(root: Path, project_file: str, node: Node, problems: Problems) -> list[str]:
    """The files that a name or pattern matches, sorted; empty, with a problem, if there are none."""
    if not isinstance(node, Scalar) or not node.text:
        nothing = isinstance(node, Scalar) and node.empty
        problems.add(node.at, f"include must contain names of files, not {'nothing' if nothing else described(node)}", id=wrong_form(node))
        return []
    wrong = _refused(node.text)
    matches = []
    if wrong is None:
        try:
            matches = _matches(root, node.text)
        except NotWalked as error:
            wrong = str(error)
            problems.partial = True
    gone = wrong is None and not matches
    names = [name for name in matches if name not in (project_file, SEED_FILE) and not name.startswith(f"{ENVIRONMENTS}/")]
    # A pattern takes every YAML file of a folder, and an encrypted file beside them is not one of the project's.
    names = [name for name in names if not is_encrypted(name)]
    if wrong is None and matches and not names and is_encrypted(node.text):
        wrong = "is an encrypted file; name it with secrets: FILE instead"
    outside = [name for name in names if not (root / name).resolve().is_relative_to(root)]
    if wrong is None and not names and any(mark in node.text for mark in FILE_MARKS):
        wrong = "matches no file"
    elif wrong is None and node.text == project_file:
        wrong = "is the project file itself"
    elif wrong is None and not names:
        wrong = f"is not a file of this project{did_you_mean(node.text, set(_beside(root, node.text)) - {project_file})}"
    if wrong is None and len(matches) > FILES_MAX:
        wrong = f"matches more than {FILES_MAX:,} files"
    unprintable = next((name for name in names if not all(map(is_plain, name))), None)
    if wrong is None and unprintable is not None:
        wrong = f"matches {terminal(unprintable)}, whose name contains a character that cannot be printed; rename the file"
    if wrong is None and outside:
        wrong = f"is outside the project: {_link(root, outside[0])} is a link"
    if wrong is None:
        return names
    problems.add(node.at, f"include {shown(node.text)} {wrong}", id="RC-not-includable")
    problems.partial |= gone  # the contents of the file are not reported as missing too
    return []


def _link(root: Path, name: str) -> str:
    """The first part of a name that is a link: what is in the place to which it leads is not named."""
    parts = PurePosixPath(name).parts
    names = [PurePosixPath(*parts[:count]).as_posix() for count in range(1, len(parts) + 1)]
    return next((part for part in names if (root / part).is_symlink()), name)


def _beside(root: Path, name: str) -> list[str]:
    """The YAML files in the folder of a name that does not exist."""
    try:
        folder = (root / name).parent
        if not folder.resolve().is_relative_to(root):
            return []
        neighbours = islice(folder.glob("*.y*ml"), BESIDE_MAX)
        return sorted(path.relative_to(root).as_posix() for path in neighbours if path.is_file() and not path.name.startswith("."))
    except (ValueError, OSError):
        return []


def _refused(text: str) -> str | None:
    """Why a pattern is invalid; None if it is valid."""
    parts = PurePosixPath(text).parts
    if HOLE_OPENING in text:
        return "contains an expression; files are read before expressions are evaluated"
    # Also C:\ and \\host: the same project is loaded on Windows.
    if text.startswith(("/", "~")) or "\\" in text or ":" in text or "\x00" in text:
        return "is not a path inside the project; write it relative to the project file, with /"
    if ".." in parts:
        return "is outside the project; write a path below the project file"
    if any(part.startswith(".") for part in parts) or not parts:
        return "names a hidden file, which is not allowed"
    if parts[0] == ENVIRONMENTS:
        return "names the file of an environment, which is chosen with --env"
    if (wrong := pattern_problem(text)) is not None:
        return f"is not a pattern of files: {wrong}"
    return None


def _matches(root: Path, pattern: str) -> list[str]:
    """The names of the files that match, sorted. Raises `NotWalked`."""
    try:
        if not any(mark in pattern for mark in FILE_MARKS):
            return [PurePosixPath(pattern).as_posix()] if (root / pattern).is_file() else []
        return sorted(islice(files_matching(root, PathPattern.parse(PurePosixPath(pattern).as_posix())), FILES_MAX + 1))
    except (ValueError, OSError):
        return []


INCLUDE: Final = "include"


def is_split(node: Node, *, ordered: bool) -> bool:
    """Whether a map names files instead of containing the values; in a section of keys `include` may be a key."""
    if not isinstance(node, Map) or INCLUDE not in node.entries:
        return False
    return ordered or not isinstance(node.entries[INCLUDE].node, Map)


@dataclass(eq=False)
class Split:
    """The split maps and lists of one project. `taken`: where each file is included. `evaluated`: evaluates a file's node.

    `documents`: the files that were read, by name, after evaluation; `sections`: the section that includes each.
    """

    files: Files
    project_file: str
    problems: Problems
    taken: dict[str, Source] = field(default_factory=dict)
    evaluated: Callable[[Node], Node] = lambda node: node
    documents: dict[str, Node | None] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)

    def nodes(self, section: str, node: Map, about: Address | None) -> list[Node]:
        """The nodes of a list."""
        for key, entry in node.entries.items():
            if key != INCLUDE:
                wrong = f'unknown key "{key}" next to include: a list that is split into files contains nothing else'
                self.problems.add(entry.at, f"{wrong}{did_you_mean(key, [INCLUDE])}", about, id="RC-unknown-key")
        nodes: list[Node] = []
        for name in self.names(node, about):
            part = self._inner(section, name)
            if isinstance(part, List):
                nodes += part.items
            elif isinstance(part, Map) and is_split(part, ordered=True):
                nodes += self.nodes(section, part, about)
            elif part is not None:
                self._wrong(part, section, about, "a list of nodes")
        return nodes

    def entries(self, section: str, node: Map, about: Address | None) -> list[MapEntry]:
        """The entries of a map: its own, then those of the files."""
        entries = [entry for key, entry in node.entries.items() if key != INCLUDE]
        for name in self.names(node, about):
            part = self._inner(section, name)
            if isinstance(part, Map) and is_split(part, ordered=False):
                entries += self.entries(section, part, about)
            elif isinstance(part, Map):
                entries += [entry for key, entry in part.entries.items() if not key.startswith(IGNORED)]
            elif part is not None:
                self._wrong(part, section, about, "a map of entries")
        return entries

    # -- files ---------------------------------------------------------------------------------------------------------------------

    def names(self, node: Map, about: Address | None) -> list[str]:
        """The files that a map names, each once; files that cannot be included are reported."""
        sources: dict[str, Source] = {}
        # A dictionary, because two patterns may match the same file, and its position is then that of the first.
        for pattern in self._patterns(node.entries[INCLUDE].node, about):
            if isinstance(pattern, Scalar) and pattern.computed:
                wrong = "include must not contain an expression: files are read before expressions are evaluated"
                self.problems.add(pattern.at, wrong, about, id="RC-expression-not-allowed")
                continue
            for name in named(self.files.root, self.project_file, pattern, self.problems):
                sources.setdefault(name, pattern.at)
        return [name for name, at in sources.items() if self._free(name, at, about)]

    def _patterns(self, node: Node, about: Address | None) -> list[Node]:
        if isinstance(node, List) and node.items:
            return node.items
        if isinstance(node, Scalar) and node.text and not node.null:
            return [node]
        if isinstance(node, Scalar) and node.empty:
            self.problems.add(node.at, empty(INCLUDE), about, id="RC-no-value")
        else:
            what = "an empty list" if isinstance(node, List) else described(node)
            self.problems.add(
                node.at, f"include must be the name of a file, a pattern, or a list of them, not {what}", about, id="RC-wrong-form"
            )
        return []

    def _free(self, name: str, at: Source, about: Address | None) -> bool:
        """Whether a file may be included here: it is included nowhere else, and does not include itself."""
        # A file may include another one, so a circle can have any length.
        chain = [at.file]
        while (above := self.taken.get(chain[-1])) is not None and above.file not in chain:
            chain.append(above.file)
        first = self.taken.get(name)
        if name in chain:
            names = " -> ".join([*reversed(chain[: chain.index(name) + 1]), name])
            self.problems.add(at, f"include {shown(name)} is circular: {names}", about, id="RC-included-twice")
        elif first is not None and first != at:
            self.problems.add(at, f"{name} is included twice; first at {first}", about, id="RC-included-twice")
        else:
            self.taken[name] = at
            return True
        return False

    def _inner(self, section: str, name: str) -> Node | None:
        """The contents of a file, without the key of the section that may be around it."""
        if name not in self.documents:
            self.sections[name] = section
            read = self.files.read(name)
            self.documents[name] = self.evaluated(read) if read is not None else None
        document = self.documents[name]
        if isinstance(document, Map):
            # With the key of the section around it an editor knows what the file is, and checks all of it.
            keys = [key for key in document.entries if not key.startswith(IGNORED)]
            if keys == [section]:
                return document.entries[section].node
        return document

    def _wrong(self, node: Node, section: str, about: Address | None, form: str) -> None:
        at, hint = node.at, ""
        if isinstance(node, Map):
            keys = [entry for key, entry in node.entries.items() if not key.startswith(IGNORED)]
            other = next((entry for entry in keys if entry.key != section), None)
            at, hint = (other.at if other else at), did_you_mean(other.key, [section]) if other else ""
            what = f'the key "{other.key}"' if other is not None else "a map"
        else:
            what = described(node)
        self.problems.add(
            at, f'a file of {section} must be {form}, or a map with the one key "{section}", not {what}{hint}', about, id="RC-wrong-form"
        )


@dataclass(frozen=True)
class Sections:
    """The names of sections with resources: `maps` of keys, and `lists` of nodes."""

    maps: Collection[str]
    lists: Collection[str]

    def splits(self, document: Node, section: str | None) -> Iterator[tuple[str, Map]]:
        """Every split map and list of a file, with its section; `section`: the section that includes the file, None for a whole file."""
        if section is None:
            yield from self._body(document)
            return
        if isinstance(document, Map):
            keys = [key for key in document.entries if not key.startswith(IGNORED)]
            document = document.entries[section].node if keys == [section] else document
        yield from self._section(section, document)

    def _body(self, node: Node) -> Iterator[tuple[str, Map]]:
        for key, entry in node.entries.items() if isinstance(node, Map) else ():
            if key in self.maps or key in self.lists:
                yield from self._section(key, entry.node)

    def _section(self, section: str, node: Node) -> Iterator[tuple[str, Map]]:
        ordered = section in self.lists
        if isinstance(node, Map) and is_split(node, ordered=ordered):
            yield section, node
        if ordered:
            for item in node.items if isinstance(node, List) else ():
                yield from self._body(item)
        else:
            for entry in node.entries.values() if isinstance(node, Map) else ():
                yield from self._body(entry.node)


def all_files(split: Split, sections: Sections, documents: Mapping[str, Node]) -> list[str]:
    """The names of all files, those of split maps and lists behind the files given."""
    names = list(documents)
    waiting: list[tuple[Node, str | None]] = [(document, None) for document in reversed(list(documents.values()))]
    while waiting:
        document, section = waiting.pop()
        for within, node in sections.splits(document, section):
            for name in split.names(node, None):
                names.append(name)
                read = split.files.read(name)
                if read is not None:
                    waiting.append((read, within))
    return names


def texts(path: Path, kinds: Kinds, given: Mapping[str, str] | None = None) -> tuple[Path, dict[str, str]]:
    """The project's directory, and the texts of the project file, of what it includes and of its environments. `given`: texts that replace
    those of files, by name. Raises `ConfigError`."""
    file = project_file(path)
    wrong = unreadable(path, file)
    if wrong is not None:
        raise ConfigError([wrong])
    problems = Problems([])
    given = given or {}
    files = Files(file.parent.resolve(), problems, given=given)
    names = [file.name]
    with suppress(Enough):
        documents: dict[str, Node] = {}
        top = files.read(file.name)
        inner = included(files.root, file.name, top.entries.get("include"), problems) if isinstance(top, Map) else {}
        for name in (file.name, *inner):
            document = top if name == file.name else files.read(name)
            if document is not None:
                documents[name] = document
        environments = files_of_environments(files.root)
        for name in environments:
            files.read(name)
        names = all_files(Split(files, file.name, problems, dict(inner)), sections(kinds), documents) + environments
    if problems.found:
        raise ConfigError(problems.found)
    return files.root, {
        name: given[name] if name in given else read_file(files.root / name, FILE_MAX, within=files.root).decode("utf-8") for name in names
    }


def files_of_environments(root: Path) -> list[str]:
    """The files of the environments of a project that are inside it."""
    if not (root / ENVIRONMENTS).is_dir() or leads_out(root / ENVIRONMENTS, root) is not None:
        return []

    return [name for name in files(root) if leads_out(root / name, root) is None]


def sections(kinds: Kinds) -> Sections:
    """The names of the maps and lists that contain resources."""
    maps = {section for kind in kinds.values() for section in kinds.sections(kind.name)} | {
        kind.place.section_in(None) for kind in kinds.roots
    }
    return Sections(frozenset(maps), frozenset(section for kind in kinds.values() for section in kinds.lists(kind.name)))
