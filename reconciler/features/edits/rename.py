"""A key under another name, everywhere: its definition, every reference to it, and `previously`, so that the next plan only renames.

    renamed(project_texts(path, kinds), Address.parse("acme/space/guides"), "handbook")
        {"content.yaml": …, "sites/docs.yaml": …}      the new texts of the files that change

What takes its key from another resource follows it: `- guides` in a site is the site space `guides`. Patterns are changed where the key is
written in them. Nothing is believed: the new texts are loaded in every environment, and must declare the same resources with the same
values under the new addresses. Raises `Refused`, with the line and the way past it, where that is not possible, and `ConfigError` where the
project is not valid before. Pure; comments, order and quotes of everything else are unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from reconciler.address import KEY_FORM, Address, Glob, is_key
from reconciler.config.language.compiled import compiled
from reconciler.config.source.nodes import List, Map, Node, Scalar
from reconciler.errors import ConfigError, Refused
from reconciler.features.edits.difference import difference
from reconciler.features.edits.fixes import removal
from reconciler.features.edits.names import NameIndex, NameRole, NameSort, Occurrence, names_of
from reconciler.features.edits.texts import ProjectTexts, TextSpan
from reconciler.features.edits.writer import in_layout
from reconciler.features.policies.section.checks import expressions
from reconciler.features.urls.model.redirects import url_settings
from reconciler.features.urls.redirects.formats import existing_names
from reconciler.model import Declared, Desired, Source
from reconciler.plan.matching.renames import renames
from reconciler.text.names import a, did_you_mean
from reconciler.yamltext.emit import closed
from reconciler.yamltext.entries import DROP, ResourcePlace, put
from reconciler.yamltext.trail import TrailStep, entry as trail_entry
from reconciler.yamltext.tree import Untouchable, index, parse

PREVIOUSLY: Final = "previously"
KEY: Final = "key"
MOVED: Final = "moved"
HOLE_END: Final = "}}"
_LITERAL: Final = re.compile(r"""["']([^"'\\]+)["']""")
_SPECIAL: Final = frozenset("'\"\\")  # what has a meaning in quotes
SWAP: Final = "To swap two keys, first rename one of them to a third key."


def renamed(texts: ProjectTexts, address: Address, key: str, *, names: NameIndex | None = None) -> dict[str, str]:
    """The new texts by name of the files that change; none if it is the key already. `names`: the index of these texts, if it is known."""
    if key == address.key and not address.is_singleton:
        return {}
    return _Rename(texts, names or names_of(texts), address, key).texts_after()


def check_renamable(names: NameIndex, address: Address) -> None:
    """Raise `Refused` where a resource can have no other key, whatever it is; reads and changes nothing."""
    _Rename(names.texts, names, address, "KEY").check_renamable()


@dataclass(eq=False)
class _Rename:
    """One run of `renamed`."""

    texts: ProjectTexts
    names: NameIndex
    address: Address
    key: str
    # The new text of each span that changes.
    edits: dict[TextSpan, str] = field(default_factory=dict)

    def texts_after(self) -> dict[str, str]:
        self._check()
        self._collect()
        changed = self._edited()
        self._prove(changed)
        return {name: in_layout(self.texts.kinds, self.texts.texts[name], text) for name, text in changed.items()}

    # -- what is renamed -----------------------------------------------------------------------------------------------------------------

    @cached_property
    def declared(self) -> Declared:
        declared = self.names.declared.get(self.address)
        if declared is None:
            meant = did_you_mean(str(self.address), map(str, self.names.declared))
            raise Refused(f"{self.address} is not declared{meant}", id="RC-unknown-reference", hint="Name a declared address.")
        return declared

    @cached_property
    def definition(self) -> Occurrence:
        """Where its key is written."""
        return self.names.definitions(NameSort.RESOURCE, str(self.address))[0]

    @cached_property
    def moves(self) -> Mapping[Address, Address]:
        """The former and the new address of what is renamed, without what it contains: itself, and what takes its key from it."""
        moves = {self.address: _with_key(self.address, self.key)}
        for address, declared in self.names.declared.items():
            source = self.texts.kinds[declared.kind].keyed_by
            referred = declared.values.get(source.name) if source is not None else None
            if referred == self.address and address.key == self.address.key and not declared.implied and self._is_bare(address):
                moves[address] = _with_key(address, self.key)
        return moves

    def _is_bare(self, address: Address) -> bool:
        """Whether the key of a resource is the text that names another one."""
        return any(definition.span in self._keys for definition in self.names.definitions(NameSort.RESOURCE, str(address)))

    @cached_property
    def _keys(self) -> frozenset[TextSpan]:
        return frozenset(occurrence.span for occurrence in self.names.occurrences if occurrence.role is NameRole.KEY and occurrence.literal)

    def _moved(self, address: Address, *, inside: bool = False) -> Address:
        """The new address of what had one. `inside`: only if something around it is renamed."""
        around = address.containers if inside else (address, *address.containers)
        old = next((old for old in around if old in self.moves), None)
        return address if old is None else address.renamed(old, self.moves[old])

    # -- whether it can be renamed -------------------------------------------------------------------------------------------------------

    def check_renamable(self) -> None:
        """Raise `Refused` where it can have no other key."""
        kind, at = self.texts.kinds[self.declared.kind], self.declared.source
        if self.address.is_singleton:
            wrong = f"{self.address} has no key: {self.address.container} has one {kind.name}"
            raise Refused(wrong, id="RC-not-a-key", hint="Rename what contains it.")
        if kind.place.key_is is not None or self.declared.implied:
            wrong = f"{self.address}: the key of {a(kind.name)} is its {kind.place.key_is}, by which the service knows it"
            raise Refused(wrong, id="RC-key-changed-outside", hint=f"Change it by hand at {at}: it is then another {kind.name}.")
        generation = self.definition.generation
        if generation is not None:
            line = f"{{from: {self.address:yaml}, to: {_with_key(self.address, self.key):yaml}}}"
            way = f"Change the element{self._sources(generation.value, generation.place)} by hand, and add {line} to moved."
            raise Refused(f"{self.address} is generated by forEach: it is {generation}", id="RC-computed-in-yaml", hint=way)
        if not self.definition.literal:
            wrong = f"the key of {self.address} comes from an expression or an alias"
            raise Refused(wrong, id="RC-computed-in-yaml", hint=_by_hand(self.definition))

    def _check(self) -> None:
        """Raise `Refused` where it cannot have this key."""
        if not is_key(self.key):
            raise Refused(f'"{self.key}" is not a key; {KEY_FORM}', id="RC-not-a-key", hint="Choose another key.")
        self.check_renamable()
        for old, new in self.moves.items():
            other = self.names.declared.get(new)
            if other is not None and new not in self.moves:
                wrong = f"{old} cannot become {new}, which is declared at {other.source}"
                raise Refused(wrong, id="RC-declared-twice", hint=f"Choose another key. {SWAP}")
        self._check_former()

    def _check_former(self) -> None:
        """Raise `Refused` where the present key is a former key of something else: only one of the two lines could be carried out."""
        for former in self.names.references_of(NameSort.RESOURCE, str(self.address)):
            if former.role is NameRole.FORMER and former.about != self.address:
                owner = former.about or "another resource"
                wrong = f"{self.address.key} is also a former key of {owner} at {former.span.source}, and {PREVIOUSLY} can name it once"
                hint = "Apply the project in every environment, remove the former key there, then rename."
                raise Refused(wrong, id="RC-moved-twice", hint=hint)

    def _check_policies(self, desired: Desired) -> None:
        """Raise `Refused` where a policy looks for a part of the address in addresses: whether it still should, nobody can tell from it."""
        for policy in desired.policies.rules:
            for source in () if policy.ready else (policy.test, *expressions(policy.message)):
                for literal in _LITERAL.findall(source) if "address" in compiled(source).names else ():
                    lost = next((old for old, new in self.moves.items() if (literal in str(old)) != (literal in str(new))), None)
                    if lost is not None and literal not in map(str, self.names.declared):
                        wrong = f"the policy {policy.id} looks for {literal} in addresses, and {lost} would become {self.moves[lost]}"
                        raise Refused(wrong, id="RC-computed-in-yaml", hint=f"Change it by hand at {policy.source}.")

    # -- edits ---------------------------------------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        """The new text of every place that names what is renamed."""
        unchanged: dict[TextSpan, Occurrence] = {}
        for occurrence in self.names.occurrences:
            text = self._after(occurrence) if occurrence.sort is NameSort.RESOURCE else None
            if text is None:
                unchanged[occurrence.span] = occurrence
            elif occurrence.literal:
                self._edit(occurrence, text)
            else:
                self._refuse_computed(occurrence)
        for span, other in unchanged.items():
            if (
                span in self.edits
                and other.literal
                and not (other.role is NameRole.DEFINITION and other.span in self._keys and Address.of(other.name) == self.address)
            ):
                wrong = f"{span.source} names {other.name} too, which keeps its key"
                raise Refused(wrong, id="RC-computed-in-yaml", hint=f"Change it by hand: {span.source}.")

    def _after(self, occurrence: Occurrence) -> str | None:
        """What a place names after the rename; None if that does not change, or is written apart."""
        address = Address.of(occurrence.name)
        if occurrence.role is NameRole.PATTERN:
            return self._pattern(occurrence)
        if address is None or occurrence.under == PREVIOUSLY:
            return None
        if occurrence.role in (NameRole.DEFINITION, NameRole.KEY):
            bare = occurrence.role is NameRole.DEFINITION and address == self.address and self._is_bare(address)
            if address not in self.moves or bare:
                return None  # `- guides` names the space; the site space gets a key of its own
            return self._text(occurrence.span).removesuffix(address.key) + self.key if occurrence.literal else self.key
        after = self._moved(address, inside=occurrence.role is NameRole.FORMER)
        return str(after) if after != address else None

    def _edit(self, occurrence: Occurrence, text: str) -> None:
        """Note the new text of a span, in quotes where YAML needs them."""
        file, span = self.texts.files[occurrence.span.file], occurrence.span
        start = file.index(span.source)
        around = {file.text[start - 1 : start], file.text[start + span.end - span.column :][:1]}
        quoted = len(around) == 1 and not around.isdisjoint(("'", '"'))
        if (quoted or occurrence.part) and not _SPECIAL.isdisjoint(text):
            raise Refused(f"{text} needs quotes at {span.source}", id="RC-edit-by-hand", hint=_by_hand(occurrence))
        self.edits[span] = text if quoted or occurrence.part else closed(text)

    def _text(self, span: TextSpan) -> str:
        file = self.texts.files[span.file]
        return file.text[file.index(span.source) :][: span.end - span.column]

    def _refuse_computed(self, occurrence: Occurrence) -> None:
        file = self.texts.files[occurrence.span.file]
        if file.text.startswith("*", file.index(occurrence.span.source)):
            return  # an alias: the text that it repeats is changed
        at = file.index(occurrence.span.source)
        what = f"{occurrence.under or 'the key'} of {occurrence.about}" if occurrence.about is not None else occurrence.under
        way = f"Change it by hand{self._sources(file.text[at : file.text.find(HOLE_END, at)], occurrence.span.source)}."
        raise Refused(f"{what} names {occurrence.name} by an expression", id="RC-computed-in-yaml", hint=way)

    def _sources(self, expression: str, at: Source) -> str:
        """Where the value of an expression is written: at its variables, if it has some."""
        variables = dict.fromkeys(re.findall(r"\bvars\s*\.\s*(\w+)", expression))
        definitions = [definition for name in variables for definition in self.names.definitions(NameSort.VARIABLE, name)]
        places = [f"vars.{definition.name} at {definition.span.source}" for definition in definitions]
        return f" in {' and '.join(places)}, used at {at}" if places else f" at {at}"

    def _pattern(self, occurrence: Occurrence) -> str | None:
        """The pattern that matches the same resources after the rename; None if it does not change."""
        address = Address.of(occurrence.name)
        if address is not None:
            return str(self._moved(address)) if self._moved(address) != address else None
        try:
            glob = Glob.parse(occurrence.name)
        except ValueError:
            return None  # a setting in the list of ignored findings: vars.brand
        every = self.names.declared
        wanted = {self._moved(address) for address in every if glob.matches(address)}
        after = {self._moved(address) for address in every}
        for candidate in (glob, *self._candidates(glob)):
            if {address for address in after if candidate.matches(address)} == wanted:
                return str(candidate) if candidate is not glob else None
        changes = ", ".join(f"{old} -> {new}" for old, new in self.moves.items() if glob.matches(old) != glob.matches(new))
        wrong = f"{occurrence.under} at {occurrence.span.source} is {occurrence.name}, which would not match the same resources ({changes})"
        raise Refused(wrong, id="RC-matches-nothing", hint="Choose another key, or first write addresses instead of the pattern.")

    def _candidates(self, glob: Glob) -> Iterator[Glob]:
        """The pattern with the new key in place of the former one."""
        numbers = [number for number, segment in enumerate(glob.segments) if segment == self.address.key]
        for chosen in (*([number] for number in numbers), numbers):
            yield Glob(tuple(self.key if number in chosen else segment for number, segment in enumerate(glob.segments)))

    # -- texts ---------------------------------------------------------------------------------------------------------------------------

    def _edited(self) -> dict[str, str]:
        changed: dict[str, str] = {}
        for name, file in self.texts.files.items():
            text = file.text
            for span, new in sorted(self.edits.items(), reverse=True):
                if span.file == name:
                    start = file.index(span.source)
                    text = text[:start] + new + text[start + span.end - span.column :]
            lines = [
                self.names.declared[old] for old in self.moves if self.names.declared[old].source.file == name and self._needs_line(old)
            ]
            for declared in sorted(lines, key=lambda declared: declared.source, reverse=True):
                text = self._with_previously(text, declared)
            text = self._without_circles(name, text)
            if text != file.text:
                changed[name] = text
        return changed

    def _needs_line(self, old: Address) -> bool:
        """Whether `previously` is written. What takes its key from another resource follows it, unless it has a line of its own."""
        return old == self.address or bool(self.names.declared[old].previously) or self._is_moved_to(old)

    def _is_moved_to(self, address: Address) -> bool:
        return any(moved.new == address for project in self.texts.projects.values() for moved in project.desired.moved)

    def _source_of(self, declared: Declared) -> str | None:
        """The key that a resource takes from another one, unless it has its own; None if keys of its kind are names of their own."""
        source = self.texts.kinds[declared.kind].keyed_by
        referred = declared.values.get(source.name) if source is not None else None
        return referred.key if isinstance(referred, Address) else None

    def _former(self, declared: Declared) -> Iterator[str]:
        """The former keys of a resource. What followed another one until now, without a line of its own, had the former keys of that."""
        yield from (address.key for address in declared.previously)
        source = self.texts.kinds[declared.kind].keyed_by
        if source is None or declared.address != self.address or not self._is_bare(self.address) or declared.previously:
            return
        referred = declared.values.get(source.name)
        for old, new in dict.fromkeys(line for project in self.texts.projects.values() for line in renames(project.desired).items()):
            if new == referred and old.container == new.container and _with_key(self.address, old.key) not in self.names.declared:
                yield old.key

    def _with_previously(self, text: str, declared: Declared) -> str:
        """The text of the file that declares a resource, all spans edited, with its former key."""
        place, at, file = self.texts.kinds[declared.kind].place, declared.source, self.texts.files[declared.source.file]
        former = dict.fromkeys([*self._former(declared), declared.address.key])
        values: dict[str, Any] = {PREVIOUSLY: [key for key in former if key != self.key]}
        if declared.address == self.address and self._is_bare(self.address):
            # A new key of a block is written behind the first one, so the last is the first.
            holder = file.places[at[1:]][1]
            block = holder is not None and not file.text.startswith("{", file.index(holder.at))
            values = {**values, KEY: self.key} if block else {KEY: self.key, **values}
        elif declared.address == self.address and self._source_of(declared) == self.key:
            values[KEY] = DROP  # it is the key of what it shows again
        before = [(span, new) for span, new in self.edits.items() if (span.file, span.line) == at[:2] and span.column < at.column]
        column = at.column + sum(len(new) - (span.end - span.column) for span, new in before)
        try:
            return put(text, ResourcePlace(index(text, at.line, column), place.tag, place.bare_is), values)
        except Untouchable as error:
            where = f"{at.file}:{error.line}:{error.column}"
            raise Refused(f"{declared.address}: {error}", id="RC-edit-by-hand", hint=f"Change it by hand: {where}.") from None
        except ValueError:
            wrong = f"{declared.address} is not written where its line says, as an alias repeats it"
            raise Refused(wrong, id="RC-edit-by-hand", hint=f"Change it by hand: {at}.") from None

    def _without_circles(self, name: str, text: str) -> str:
        """The text of a file without lines of `moved` that would move an address to itself, as it has its former key again."""
        document = self.texts.files[name].document
        entry = document.entries.get(MOVED) if isinstance(document, Map) else None
        items = entry.node.items if entry is not None and isinstance(entry.node, List) else []
        for number, item in reversed(list(enumerate(items))):
            old, new = (_address(item, key) for key in ("from", "to"))
            if old is not None and new is not None and self._moved(old, inside=True) == self._moved(new) and new in self.moves:
                tree = parse(text)
                lines = trail_entry(tree.root, MOVED)
                if lines is not None:
                    text = removal(text, tree, (TrailStep(tree.root, lines), TrailStep(lines.value, lines.value.children[number]))).done()
        return text

    # -- proof ---------------------------------------------------------------------------------------------------------------------------

    def _prove(self, changed: Mapping[str, str]) -> None:
        after = self.texts.with_texts(changed)
        for environment, project in self.texts.projects.items():
            try:
                desired = after.load(environment).desired
            except ConfigError as error:
                first = error.problems[0]
                wrong = f"after the rename the project would not be valid: {first.message}"
                raise Refused(wrong, id=first.id, hint=f"Change it by hand: {first.file}:{first.line}:{first.column}.") from None
            self._check_files(project.desired, desired)
            self._check_policies(project.desired)
            what = difference(project.desired, desired, self._moved)
            if what is not None:
                raise Refused(f"renaming {self.address} would change {what}", id="RC-computed-in-yaml", hint="Change that first.")

    def _check_files(self, before: Desired, after: Desired) -> None:
        """Raise `Refused` where files of redirects have the former key in their names: under the new one nothing would find them."""
        was, then = url_settings(before), url_settings(after)
        if was is None or then is None:
            return
        for site, files in was.sites.items():
            new = then.sites[self._moved(site)].name
            names = [path.removeprefix(f"{files.folder}/") for path in was.texts]
            for _, name in existing_names(files.name, names) if new != files.name else ():
                renamed_file = f"{files.folder}/{name.replace(files.name, new, 1)}"
                wrong = f"the redirects of {site} are in {files.folder}/{name}, a name that follows from the key"
                raise Refused(wrong, id="RC-edit-by-hand", hint=f"First rename that file: git mv {files.folder}/{name} {renamed_file}")


def _with_key(address: Address, key: str) -> Address:
    return Address((*address.parts[:-1], key))


def _by_hand(occurrence: Occurrence) -> str:
    return f"Change it by hand: {occurrence.span.source}."


def _address(item: Node, key: str) -> Address | None:
    """The address that a key of a map has."""
    entry = item.entries.get(key) if isinstance(item, Map) else None
    return Address.of(entry.node.text) if entry is not None and isinstance(entry.node, Scalar) else None
