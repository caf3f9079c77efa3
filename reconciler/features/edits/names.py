"""What the files of a project name, and where: resources, variables, secrets, files, policies and functions, each with its exact span.

    names = names_of(project_texts(path, kinds))
    names.definition_at("sites/docs.yaml", 12, 17)      go to definition
    names.references_of(NameSort.RESOURCE, "acme/space/guides")
    names.symbols("sites/docs.yaml")

Resources come from the loaded project in all its environments, so a reference is what the project's own reading takes for one: the kinds
declare which values are references, and the key table (`Key.names`) what the other keys name. Everything else is read from the texts.
An editor gives the texts of its buffers, and keeps the last index while a file cannot be read. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from reconciler.address import Address, Glob, addresses_in
from reconciler.config.key import Key
from reconciler.config.keys import ENVIRONMENT, ENVIRONMENTS, EVERYWHERE, PROJECT
from reconciler.config.references import Positions
from reconciler.config.resources.shapes import shapes
from reconciler.config.settings import Project
from reconciler.config.source.includes import INCLUDE, named
from reconciler.config.source.nodes import HOLE_OPENING, UNREAD, List, Map, MapEntry, Node, Scalar, holds_expression, scalars
from reconciler.config.source.problems import Problems
from reconciler.config.values import INVALID, references_in
from reconciler.features.edits.texts import FileText, ProjectTexts, TextSpan
from reconciler.features.policies.cases import EXAMPLE, EXAMPLES
from reconciler.features.policies.section.keys import NAMES
from reconciler.features.testing.keys import EXPECTATIONS, STEP, TEST, TESTS
from reconciler.model import Declared, ReaderSort, Source
from reconciler.model.desired import Generation
from reconciler.model.policies import PLAN
from reconciler.resource import Kind
from reconciler.yamltext.tree import leaves, parse

FUNCTIONS: Final = tuple(dict.fromkeys(("file", "json", "range", *(name.partition("(")[0] for name in NAMES if "(" in name))))
"""What expressions can call."""


class NameSort(StrEnum):
    """What a name is the name of. `RESOURCE`: an address; `FILE`: a file of the project, or a pattern of files."""

    RESOURCE = "resource"
    VARIABLE = "variable"
    SECRET = "secret"  # noqa: S105
    FILE = "file"
    POLICY = "policy"
    FUNCTION = "function"


class NameRole(StrEnum):
    """What an occurrence is. `KEY`: a reference by a bare key; `ADDRESS`: by an address; `PATTERN`: a pattern of addresses; `FORMER`: an
    earlier key or address, or one that is no longer declared; `OVERRIDE`: the value of a variable in an environment."""

    DEFINITION = "definition"
    OVERRIDE = "override"
    KEY = "key"
    ADDRESS = "address"
    PATTERN = "pattern"
    FORMER = "former"
    USE = "use"


@dataclass(frozen=True)
class Occurrence:
    """One place at which something is named."""

    sort: NameSort
    role: NameRole
    # Its address, its name, or the pattern.
    name: str
    # Where it is written; without a length where it is not `literal`.
    span: TextSpan
    # The keys around it: `space`, `access.sees`, `moved.from`.
    under: str = ""
    # The resource that contains it; None outside of resources.
    about: Address | None = None
    # False: the text does not contain it, as an expression or an alias gives it.
    literal: bool = True
    # Whether it is a part of a longer text, as in an expression.
    part: bool = False
    # Of a definition by `forEach`.
    generation: Generation | None = None


@dataclass(frozen=True)
class Symbol:
    """A definition as editors list it. `detail`: the kind of a resource; `title`: its name for people, or ""; `last`: its last line."""

    name: str
    detail: str
    title: str
    span: TextSpan
    last: int
    container: str | None


@dataclass(frozen=True, eq=False)
class NameIndex:
    """The index. `occurrences`: in the order of files and positions. `declared`: what any environment declares."""

    texts: ProjectTexts
    occurrences: tuple[Occurrence, ...]
    declared: Mapping[Address, Declared]

    @cached_property
    def _by_line(self) -> Mapping[tuple[str, int], list[Occurrence]]:
        lines: dict[tuple[str, int], list[Occurrence]] = defaultdict(list)
        for occurrence in self.occurrences:
            lines[occurrence.span.file, occurrence.span.line].append(occurrence)
        return lines

    @cached_property
    def _by_name(self) -> Mapping[tuple[NameSort, str], list[Occurrence]]:
        names: dict[tuple[NameSort, str], list[Occurrence]] = defaultdict(list)
        for occurrence in self.occurrences:
            names[occurrence.sort, occurrence.name].append(occurrence)
        return names

    def at(self, file: str, line: int, column: int) -> tuple[Occurrence, ...]:
        """What is named at a position (line and column from 1): references first, as they lead somewhere else."""
        named = [occurrence for occurrence in self._by_line.get((file, line), ()) if occurrence.span.contains(file, line, column)]
        return tuple(sorted(named, key=lambda occurrence: (occurrence.role is NameRole.DEFINITION, not occurrence.literal)))

    def definitions(self, sort: NameSort, name: str) -> tuple[Occurrence, ...]:
        """Where something is defined; of a pattern of addresses every resource that it matches."""
        direct = [occurrence for occurrence in self._by_name.get((sort, name), ()) if occurrence.role is NameRole.DEFINITION]
        if direct or sort is not NameSort.RESOURCE or "*" not in name:
            return tuple(direct)
        matched = [str(address) for address in self.declared if _matches(name, address)]
        return tuple(definition for address in matched for definition in self.definitions(sort, address))

    def definition_at(self, file: str, line: int, column: int) -> tuple[Occurrence, ...]:
        """The definitions of what is named at a position."""
        for occurrence in self.at(file, line, column):
            if definitions := self.definitions(occurrence.sort, occurrence.name):
                return definitions
        return ()

    def references_of(self, sort: NameSort, name: str) -> tuple[Occurrence, ...]:
        """Every occurrence of a name but its definitions; of an address also the patterns that match it."""
        direct = [occurrence for occurrence in self._by_name.get((sort, name), ()) if occurrence.role is not NameRole.DEFINITION]
        address = next((address for address in self.declared if str(address) == name), None) if sort is NameSort.RESOURCE else None
        if address is not None:
            direct += [pattern for pattern in self.patterns if pattern.name != name and _matches(pattern.name, address)]
        return tuple(sorted(direct, key=lambda occurrence: occurrence.span))

    @cached_property
    def patterns(self) -> tuple[Occurrence, ...]:
        """The patterns of addresses."""
        return tuple(occurrence for occurrence in self.occurrences if occurrence.role is NameRole.PATTERN)

    def symbols(self, file: str | None = None) -> tuple[Symbol, ...]:
        """The definitions of a file, or of the whole project, in the order of the text."""
        definitions = [occurrence for occurrence in self.occurrences if occurrence.role is NameRole.DEFINITION]
        return tuple(self._symbol(occurrence) for occurrence in definitions if file is None or occurrence.span.file == file)

    def _symbol(self, occurrence: Occurrence) -> Symbol:
        declared = self.declared.get(occurrence.about) if occurrence.sort is NameSort.RESOURCE and occurrence.about is not None else None
        if declared is None:
            return Symbol(occurrence.name, occurrence.sort, "", occurrence.span, occurrence.span.line, None)
        title = next((text for name in ("title", "name", "label") if isinstance(text := declared.values.get(name), str)), "")
        place = self.texts.files[declared.source.file].places.get(declared.source[1:])
        last = max((node.at.line for part in place or () for node in _nodes(part)), default=occurrence.span.line)
        parent = str(declared.parent) if declared.parent is not None else None
        return Symbol(occurrence.name, declared.kind, title, occurrence.span, last, parent)


def _nodes(part: MapEntry | Map | Scalar | None) -> Iterator[Node]:
    if isinstance(part, MapEntry):
        yield from scalars(part.node)
    elif part is not None:
        yield part


def _matches(pattern: str, address: Address) -> bool:
    try:
        return Glob.parse(pattern).matches(address)
    except ValueError:
        return False


def names_of(texts: ProjectTexts) -> NameIndex:
    """The index of a project. Raises `ConfigError` where the project of an environment is not valid."""
    return _Gathering(texts).names()


class _Gathering:
    """One run of `names_of`: what each occurrence is, once."""

    def __init__(self, texts: ProjectTexts) -> None:
        self.texts, self.kinds = texts, texts.kinds
        self.shapes = shapes(texts.kinds)
        self.seen: dict[Occurrence, None] = {}
        self.declared: dict[Address, Declared] = {}
        self.by_text: dict[str, Address] = {}
        # The indexes at which expressions begin whose texts may be addresses, by file.
        self.expressions: dict[str, set[int]] = defaultdict(set)

    def names(self) -> NameIndex:
        for project in self.texts.projects.values():
            for declared in _resources(project):
                self.declared.setdefault(declared.address, declared)
        self.by_text = {str(address): address for address in self.declared}
        for project in self.texts.projects.values():
            for declared in _resources(project):
                self._resource(declared, project.desired.generated.get(declared.address))
        for file in self.texts.files.values():
            self._file(file)
            self._in_expressions(file)
        return NameIndex(self.texts, tuple(sorted(self.seen, key=lambda occurrence: occurrence.span)), self.declared)

    def _add(self, sort: NameSort, role: NameRole, name: str, at: Source, written: str | None, **more: Any) -> None:
        """Note an occurrence. `written`: as the text has it; None where an expression gives it."""
        file = self.texts.files.get(at.file)
        if file is not None:
            span = file.span(at, written) if written is not None else None
            empty = TextSpan(at.file, at.line, at.column, at.column)
            self.seen[Occurrence(sort, role, name, span or empty, literal=span is not None, **more)] = None

    # -- resources -----------------------------------------------------------------------------------------------------------------------

    def _resource(self, declared: Declared, generation: Generation | None) -> None:
        kind, address, file = self.kinds[declared.kind], declared.address, self.texts.files.get(declared.source.file)
        place = file.places.get(declared.source[1:]) if file is not None and not declared.implied else None
        if place is not None:
            at, written = _key_of(kind, *place)
            literal = written if written is not None and not holds_expression(written) and not kind.one_per else None
            self._add(NameSort.RESOURCE, NameRole.DEFINITION, str(address), at, literal, about=address, generation=generation)
            for name, entry in _written(kind, *place):
                self._replaced(declared, kind, name, entry)
        if isinstance(declared.positions, Positions):
            for name in declared.positions:
                if kind.fields[name].written:
                    self._references(declared, name, declared.positions.node(name))
        for former, at in declared.lines.items():
            self._add(NameSort.RESOURCE, NameRole.FORMER, str(former), at, former.key, under="previously", about=address)

    def _references(self, declared: Declared, name: str, node: Node) -> None:
        """The texts of a field that name its resolved references."""
        targets = list(addresses_in(declared.values.get(name)))
        if not targets:
            return
        by_key = {(self.kinds.of(target).name, target.key): target for target in targets}
        every = {kind for kind, _ in by_key}
        for scalar, to in references_in(self.kinds[declared.kind].fields[name].type, node):
            text = scalar.text if scalar.value is UNREAD else str(scalar.value)
            for kind in (to,) if to else every:
                target = by_key.get((kind, text)) or by_key.get((kind, self._settled(kind, text)))
                if target is not None:
                    about = declared.address if name not in declared.from_defaults else None
                    written = text if scalar.value is UNREAD else None
                    self._add(NameSort.RESOURCE, NameRole.KEY, str(target), scalar.at, written, under=name, about=about)

    def _replaced(self, declared: Declared, kind: Kind, name: str, entry: MapEntry) -> None:
        """The references in a value that the file has, and that a patch of the environment replaces."""
        field = kind.fields.get(name)
        if field is not None and field.written and name in declared.positions and declared.positions[name] != entry.node.at:
            self._bare(declared, name, references_in(field.type, entry.node), about=declared.address)

    def _bare(self, declared: Declared, under: str, texts: Iterable[tuple[Scalar, str]], *, about: Address | None) -> None:
        """Bare keys as they are written for a resource, in a place that no environment reads."""
        for scalar, kind in texts:
            target = self._resolved(declared, kind, scalar.text) if kind and not holds_expression(scalar.text) else None
            if target is not None:
                self._add(NameSort.RESOURCE, NameRole.KEY, str(target), scalar.at, scalar.text, under=under, about=about)

    def _resolved(self, declared: Declared, kind: str, key: str) -> Address | None:
        """The declared resource that a bare key names from another one."""
        try:
            address = self.kinds.address(declared.address, kind, self._settled(kind, key))
        except (ValueError, KeyError, StopIteration):
            return None
        return address if address in self.declared else None

    def _settled(self, kind: str, key: str) -> str:
        """A key as its kind normalizes it."""
        reader = self.shapes[kind].key_reader
        value = reader.read(Scalar(Source("", 0), key, False), lambda at, message, *, id: None) if reader is not None else key
        return key if value is INVALID else str(value)

    # -- other keys ----------------------------------------------------------------------------------------------------------------------

    def _file(self, file: FileText) -> None:
        """What the keys of a file name that are not those of resources."""
        self._add(NameSort.FILE, NameRole.DEFINITION, file.name, Source(file.name, 1), "")
        for part, _ in file.places.values():
            if isinstance(part, MapEntry) and part.key == INCLUDE:
                self._include(part)
        document = file.document
        if not isinstance(document, Map):
            return
        self._tests(document)
        environment = file.name.startswith(f"{ENVIRONMENTS}/")
        self._map(ENVIRONMENT if environment else (*PROJECT, *EVERYWHERE), document, "")
        for root in self.kinds.roots:
            section, named = document.entries.get(root.place.section_in(None)), document.entries.get(root.name)
            if named is not None and isinstance(named.node, Scalar):
                self._known(named.node.text, named.node, root.name)
            for entry in section.node.entries.values() if environment and section is not None and isinstance(section.node, Map) else ():
                self._known(entry.key, Scalar(entry.at, entry.key), str(root.place.section_in(None)))

    def _known(self, name: str, scalar: Scalar, under: str, role: NameRole = NameRole.ADDRESS) -> None:
        if name in self.by_text:
            self._add(NameSort.RESOURCE, role, name, scalar.at, scalar.text, under=under)

    def _include(self, entry: MapEntry) -> None:
        for node in entry.node.items if isinstance(entry.node, List) else [entry.node]:
            if isinstance(node, Scalar):
                for name in named(self.texts.root, self.texts.project_file, node, Problems([], silent=True)):
                    self._add(NameSort.FILE, NameRole.USE, name, node.at, node.text, under=INCLUDE)

    def _tests(self, document: Map) -> None:
        """The tests of a file, but those of another project."""
        for test in _items(document, TESTS):
            choice = test.entries.get("with")
            if choice is not None and isinstance(choice.node, Map) and "project" in choice.node.entries:
                continue
            self._map(TEST, test, f"{TESTS}.")
            for step in _items(test, "steps"):
                self._map(STEP, step, "steps.")
            for expectation in _items(test, "expect"):
                sort = next((sort for sort in EXPECTATIONS if sort in expectation.entries), "")
                self._map(EXPECTATIONS.get(sort, ()), expectation, "expect.")
        for example in _items(document, EXAMPLES):
            self._map(EXAMPLE, example, f"{EXAMPLES}.")

    def _map(self, keys: Iterable[Key], node: Node, within: str) -> None:
        for key in keys if isinstance(node, Map) else ():
            entry = node.entries.get(key.name) if isinstance(node, Map) else None
            if entry is not None and isinstance(node, Map):
                self._named(key, entry, node, f"{within}{key.name}")
                for part in entry.node.items if isinstance(entry.node, List) else [entry.node]:
                    self._map(key.keys, part, f"{within}{key.name}.")

    def _named(self, key: Key, entry: MapEntry, holder: Map, under: str) -> None:
        """What the value of one key names. `holder`: the map that contains it."""
        keys = [Scalar(inner.at, inner.key) for inner in entry.node.entries.values()] if isinstance(entry.node, Map) else []
        texts = [scalar for scalar in scalars(entry.node) if scalar.text and not holds_expression(scalar.text)]
        match key.names:
            case "address" | "former" | "pattern":
                for scalar in texts:
                    self._add(NameSort.RESOURCE, NameRole(key.names), scalar.text, scalar.at, scalar.text, under=under)
            case "kind or pattern":
                for scalar in keys or texts:
                    if scalar.text not in (*self.kinds, PLAN):
                        self._add(NameSort.RESOURCE, NameRole.PATTERN, scalar.text, scalar.at, scalar.text, under=under)
            case "reference":
                for scalar in texts:
                    if "/" in scalar.text:
                        self._known(scalar.text, scalar, under)
            case "field":
                for scalar in texts:
                    self._field(scalar, under)
            case "template":
                for scalar in texts:
                    for match in _PLACEHOLDER.finditer(scalar.text):
                        self._part(scalar, match[1], match.start(1), under)
            case "values":
                self._values(entry, holder)
            case "defaults":
                for kind in entry.node.entries.values() if isinstance(entry.node, Map) else ():
                    self._defaults(kind)
            case "published":
                for scalar in keys or texts:
                    self._of_kinds(scalar, self.kinds.publishers, under)
            case "person":
                for scalar in texts:
                    self._of_kinds(scalar, {kind.name for kind in self.kinds.values() if kind.undeclared}, under)
            case "reader":
                openers = {kind.name for kind in self.kinds.values() if kind.audience is not None and kind.audience.opens is not None}
                link = entry.node.entries.get(ReaderSort.LINK) if isinstance(entry.node, Map) else None
                if link is not None and isinstance(link.node, Scalar):
                    self._of_kinds(link.node, openers, f"{under}.{link.key}")
            case "policy":
                direct = entry.node.items if isinstance(entry.node, List) else [entry.node]
                role = NameRole.DEFINITION if under == "policies.id" else NameRole.USE
                for scalar in (node for node in direct if isinstance(node, Scalar)):
                    self._add(NameSort.POLICY, role, scalar.text, scalar.at, scalar.text, under=under)
            case "variable":
                role = NameRole.DEFINITION if entry.at.file == self.texts.project_file else NameRole.OVERRIDE
                for scalar in keys:
                    self._add(NameSort.VARIABLE, role, scalar.text, scalar.at, scalar.text, under=under)
            case "file" if key.name != INCLUDE:
                for scalar in texts:
                    self._add(NameSort.FILE, NameRole.USE, scalar.text, scalar.at, scalar.text, under=under)
            case "expression":
                for scalar in scalars(entry.node):
                    self.expressions[scalar.at.file].add(self.texts.files[scalar.at.file].index(scalar.at))

    def _values(self, entry: MapEntry, holder: Map) -> None:
        """The references in fields of the resource whose address is beside them."""
        beside = holder.entries.get("address")
        address = self.by_text.get(beside.node.text) if beside is not None and isinstance(beside.node, Scalar) else None
        for value in entry.node.entries.values() if address is not None and isinstance(entry.node, Map) else ():
            field = self.kinds.of(address).fields.get(value.key) if address is not None else None
            if field is not None and address is not None:
                self._bare(self.declared[address], value.key, references_in(field.type, value.node), about=address)

    def _defaults(self, entry: MapEntry) -> None:
        """The references in the defaults of a kind, in each root; also in those that no resource takes."""
        kind = self.kinds.get(entry.key)
        roots = [declared for declared in self.declared.values() if declared.parent is None and not declared.implied]
        for value in entry.node.entries.values() if kind is not None and isinstance(entry.node, Map) else ():
            field = kind.fields.get(value.key) if kind is not None else None
            for root in roots if field is not None else ():
                self._bare(root, value.key, references_in(field.type if field is not None else None, value.node), about=None)

    def _of_kinds(self, scalar: Scalar, kinds: Collection[str], under: str) -> None:
        """A text that is the key of a resource of one of these kinds, its key behind that of its root, or its address."""
        for address in self.declared:
            if self.kinds.of(address).name in kinds:
                if scalar.text == str(address):
                    self._known(scalar.text, scalar, under)
                elif scalar.text in (address.key, f"{address.root}.{address.key}"):
                    self._known(str(address), scalar, under, NameRole.KEY)

    def _field(self, scalar: Scalar, under: str) -> None:
        """`acme/site/docs.title`: keys may contain dots, so the longest address counts."""
        parts = scalar.text.split(".")
        for end in range(len(parts) - 1, 0, -1):
            name = ".".join(parts[:end])
            if name in self.by_text:
                self._part(scalar, name, 0, under)
                return

    def _part(self, scalar: Scalar, name: str, start: int, under: str) -> None:
        """An address that is a part of a text."""
        if name in self.by_text:
            whole = self.texts.files[scalar.at.file].span(scalar.at, scalar.text)
            at = scalar.at if whole is None else Source(whole.file, whole.line, whole.column + start)
            self._add(NameSort.RESOURCE, NameRole.ADDRESS, name, at, None if whole is None else name, under=under, part=whole is not None)

    # -- expressions ---------------------------------------------------------------------------------------------------------------------

    def _in_expressions(self, file: FileText) -> None:
        """The variables, secrets, files and functions that the expressions of a file name; in those of policies also addresses."""
        if HOLE_OPENING not in file.text or file.document is None:
            return
        for leaf in leaves(parse(file.text).root):
            for hole in _HOLE.finditer(file.text, leaf.start, leaf.end) if HOLE_OPENING in leaf.raw else ():
                for match in _WORDS.finditer(file.text, hole.start(1), hole.end(1)):
                    self._word(file, match)
                if leaf.start in self.expressions[file.name]:
                    for match in _QUOTED.finditer(file.text, hole.start(1), hole.end(1)):
                        if "/" in match[2] and match[2] in self.by_text:
                            at = file.source(match.start(2))
                            self._add(NameSort.RESOURCE, NameRole.ADDRESS, match[2], at, match[2], under="expression", part=True)

    def _word(self, file: FileText, match: re.Match[str]) -> None:
        sorts = {"vars": NameSort.VARIABLE, "secrets": NameSort.SECRET, "file": NameSort.FILE, "function": NameSort.FUNCTION}
        group = match.lastgroup or ""
        self._add(sorts[group], NameRole.USE, match[group], file.source(match.start(group)), match[group], under="expression", part=True)


_HOLE: Final = re.compile(r"(?<!\$)\$\{\{((?:(?!\$\{\{).)*?)\}\}", re.DOTALL)
_QUOTED: Final = re.compile(r"""(\\?["'])([^"'\\\n]*)\1""")  # in a text in double quotes, those of an expression are escaped
_PLACEHOLDER: Final = re.compile(r"\{([^{}\s]+)\}")
_WORDS: Final = re.compile(
    r"""\bvars\s*\.\s*(?P<vars>\w+)|\bsecrets\s*\.\s*(?P<secrets>\w+)|\bfile\(\s*["'](?P<file>[^"'\n]+)["']|"""
    rf"""\b(?P<function>{"|".join(FUNCTIONS)})(?=\s*\()"""
)


def _items(node: Map, key: str) -> list[Map]:
    """The maps in the list of a key."""
    entry = node.entries.get(key)
    return [item for item in entry.node.items if isinstance(item, Map)] if entry is not None and isinstance(entry.node, List) else []


def _resources(project: Project) -> Iterator[Declared]:
    """What an environment declares, and what it removes."""
    yield from project.desired.resources.values()
    for excluded in project.desired.excluded.values():
        yield excluded.declared


def _key_of(kind: Kind, part: MapEntry | Scalar, holder: Map | None) -> tuple[Source, str | None]:
    """Where the key of a resource is written, and as what; None where it is not a text."""
    if isinstance(part, Scalar):
        return part.at, part.text
    if not kind.place.in_list:
        return part.at, part.key
    own = holder.entries.get("key") if holder is not None and kind.keyed_by is not None else None
    node = (own or part).node
    return node.at, node.text if isinstance(node, Scalar) else None


def _written(kind: Kind, part: MapEntry | Scalar, holder: Map | None) -> Iterable[tuple[str, MapEntry]]:
    """The keys of a resource as its file has them."""
    body = holder if kind.place.in_list else part.node if isinstance(part, MapEntry) else None
    return body.entries.items() if isinstance(body, Map) else ()
