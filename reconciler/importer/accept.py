"""What drifted, as edits of the YAML that make it what is declared. Pure: nothing is read or written here.

In: Desired, what was observed, the drift, and the addresses and fields to accept. Out: by file, what to put where. Raises `Refused` where
the YAML cannot simply say it, with the place to change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from reconciler.address import Address, bare
from reconciler.config.language.expressions import ExpressionError, Hole, holds_expression, holes
from reconciler.config.shapes import shapes
from reconciler.config.words import ENVIRONMENTS, TOP
from reconciler.errors import ReconcilerError, Refused, UsageError
from reconciler.importer.excluded import removed_by
from reconciler.importer.moves import Moves
from reconciler.importer.values import Unwritable, written
from reconciler.model import Actual, Delta, Desired, Source, State
from reconciler.model.codec import path_ids
from reconciler.plan.drift import Drift, Drifted, Kept
from reconciler.resource import UNSET, Kinds, Role
from reconciler.yamltext.cursor import Tracked, index
from reconciler.yamltext.emit import block, closed
from reconciler.yamltext.entries import Loose, Spelling
from reconciler.yamltext.errors import Untouchable
from reconciler.yamltext.format import layout
from reconciler.yamltext.key_order import document
from reconciler.yamltext.replace import DROP, Place, put, raw

SPELLING: Final = Spelling(closed, lambda key, value, indent: "\n".join(block({key: value}, indent)))


@dataclass(frozen=True)
class Accepted:
    """One field whose living value goes into the YAML; None is its place among its siblings."""

    one: Drifted
    delta: Delta | None

    @property
    def moved(self) -> bool:
        """Whether its lines go elsewhere."""
        return self.delta is None or self.delta.container

    def __str__(self) -> str:
        return f"{self.one.address}.{self.delta.name}" if self.delta is not None else f"{self.one.address}"


def chosen(drift: Drift, words: Sequence[str]) -> list[Accepted]:
    """The fields that `ADDRESS` or `ADDRESS.field` name. Raises `UsageError` at what has not drifted, `Refused` at what is no value."""
    found: dict[tuple[Address, str | None], Accepted] = {}
    for word in words:
        one, name = _named(drift, word)
        if one.status is Kept.DELETED:
            raise Refused(
                f"{one.address} was deleted outside Reconciler",
                hint="Remove its lines from the YAML to accept this, or apply to restore it.",
            )
        if one.place is not None and name is None:
            found[(one.address, None)] = Accepted(one, None)
        for delta in one.fields:
            if name in (None, delta.name):
                found[(one.address, delta.name)] = Accepted(one, delta)
    return list(found.values())


def _named(drift: Drift, word: str) -> tuple[Drifted, str | None]:
    by_text = {str(one.address): one for one in drift.resources}
    if word in by_text:
        return by_text[word], None
    address, _, name = word.rpartition(".")
    one = by_text.get(address)
    if one is None or all(delta.name != name for delta in one.fields):
        raise UsageError(f"{word} has not drifted", hint="reconciler drift lists what has.")
    return one, name


def _at(source: Source | None) -> str:
    return f" at {source.file}:{source.line}" if source is not None else ""


class Acceptance:
    """Puts living values where the YAML says them. `texts`: a file of the project as it is. `excluded`: what a patch of the
    environment removes, by kind and id."""

    def __init__(
        self,
        kinds: Kinds,
        desired: Desired,
        state: State,
        actual: Actual,
        ids: Mapping[Address, str],
        texts: Mapping[str, str],
        excluded: Mapping[tuple[str, str], Address] = {},
    ) -> None:
        self.kinds, self.desired, self.state, self.actual, self.ids, self.texts = kinds, desired, state, actual, ids, texts
        self.shapes = shapes(kinds)
        self.addresses = {(desired.resources[address].kind, id): address for address, id in ids.items()}
        self.excluded = excluded
        self._edits: dict[Address, dict[str, Any]] = defaultdict(dict)

    def edited(self, accepted: Sequence[Accepted], strayed: Collection[Address] = ()) -> dict[str, str]:
        """The new texts by file. `strayed`: all that stand elsewhere in their lists, accepted or not."""
        for each in accepted:
            self._check_literal(each)
        for each in accepted:
            if not each.moved:
                self._accept(each)
        files = self._moved(accepted, strayed)
        places = {address: (file, *tracked.line_column(address)) for file, tracked in files.items() for address in tracked.marks}
        texts = {file: tracked.text for file, tracked in files.items()}
        for address in sorted(self._edits, key=lambda address: places[address], reverse=True):  # from the end
            file, line, column = places[address]
            with self._by_hand(address, file):
                texts[file] = put(texts[file], replace(self._place(address), line=line, column=column), self._edits[address], SPELLING)
        return {file: self._laid_out(file, text) for file, text in texts.items() if text != self.texts[file]}

    def _moved(self, accepted: Sequence[Accepted], strayed: Collection[Address]) -> dict[str, Tracked]:
        """The texts with lines where they belong now, each resource marked."""
        files = {file: Tracked(text) for file, text in self.texts.items()}
        for address, declared in self.desired.resources.items():
            at = declared.source
            if not declared.implied and at.file in files:
                files[at.file].marks[address] = index(self.texts[at.file], at.line, at.column)
        arrived = [each.one.address for each in accepted if each.delta is not None and each.delta.container]
        going = [each.one.address for each in accepted if each.delta is None]
        if arrived or going:
            with self._by_hand((arrived or going)[0], None):
                run = Moves(self.kinds, self.desired, self.state, self.actual, self.ids, files, self.excluded)
                run.run(arrived, going, set(strayed) - set(going))
        return files

    @contextmanager
    def _by_hand(self, address: Address, file: str | None) -> Iterator[None]:
        """What cannot be touched is refused, with its place."""
        try:
            yield
        except Untouchable as error:
            where = f"{file or self.desired.resources[address].source.file}:{error.line}:{error.column}"
            raise Refused(f"{address}: {error}", hint=f"Change it by hand: {where}.") from None

    def _laid_out(self, file: str, text: str) -> str:
        """A file that was in canonical layout stays in it."""
        shape = document(self.kinds, TOP)
        try:
            return layout(text, shape) if layout(self.texts[file], shape) == self.texts[file] else text
        except ReconcilerError:
            return text

    def _place(self, address: Address) -> Place:
        declared = self.desired.resources[address]
        place = self.kinds[declared.kind].place
        return Place(declared.source.line, declared.source.column, place.tag, place.bare_is, place.value_is)

    def _accept(self, each: Accepted) -> None:
        assert each.delta is not None
        address, name = each.one.address, each.delta.name
        declared = self.desired.resources[address]
        kind = self.kinds[declared.kind]
        field = kind.fields[name]
        if field.sensitive:
            raise Refused(f"{each} is sensitive: its value is not written to files", hint=f"Change its source{_at(declared.source)}.")
        now = self._now(each)
        if field.role is Role.CHOICE:
            self._choose(each, str(field.flag), str(field.to), now)
            return
        reader = self.shapes[kind.name].readers.get(name)
        if reader is None:
            raise Refused(f"{each} is its key in the YAML", hint=f"Change the key{_at(declared.source)}, with previously: {address}.")
        self._check_own(each, declared.positions.get(name))
        self._check_plain(each, address, name, declared.positions.get(name))
        try:
            value = written(reader, now, lambda of, id: self._reference(address, of, id), lambda of, key: self._id(address, of, key))
        except Unwritable as error:
            raise Refused(f"{each} cannot be written: {error}", hint="Run apply to restore it.") from None
        edits = self._edits[address]
        edits[name] = Loose(value) if field.unordered and isinstance(value, list) else value
        if name == kind.place.tag and raw(self._text(address), self._place(address), "key") is None:
            edits["key"] = address.key  # the tag's value was the key too

    def _check_literal(self, each: Accepted) -> None:
        """Raise `Refused` where the resource is made by `forEach`: its lines are those of others too."""
        made = self.desired.generated.get(each.one.address)
        if made is None:
            return
        name = each.delta.name if each.delta is not None and not each.moved else None
        found = raw(self._text(each.one.address), self._place(each.one.address), name) if name is not None else None
        at = self.desired.resources[each.one.address].positions.get(name or "", made.source)
        what = f"{name}: {found.splitlines()[0]} at {at.file}:{at.line}:{at.column}, or " if found is not None else ""
        raise Refused(f"{each} is generated by forEach, which makes others from the same lines", hint=f"Change {what}{made}.")

    def _check_own(self, each: Accepted, at: Source | None) -> None:
        """Raise `Refused` where an environment gives the value."""
        if at is not None and at.file.startswith(f"{ENVIRONMENTS}/"):
            raise Refused(f"{each} is set by a patch of the environment", hint=f"Change the patch: {at.file}:{at.line}:{at.column}.")

    def _now(self, each: Accepted) -> Any:
        """The living value, request form."""
        assert each.delta is not None
        found = self.actual.find(each.one.kind, str(each.one.id))
        field = self.kinds[each.one.kind].fields[each.delta.name]
        if field.role is Role.CHOICE:
            return each.delta.before
        value = found.values.get(each.delta.name, UNSET) if found is not None else UNSET
        if value is UNSET:
            raise Refused(f"the service does not show {each}", hint="Remove the line to stop managing it.")
        return value

    def _choose(self, each: Accepted, flag: str, kind: str, now: Any) -> None:
        """The flag goes from one child to another."""
        assert each.delta is not None
        before = self.desired.resources[each.one.address].values[each.delta.name]
        address = next((one for one in self.desired.resources if str(one) == now), None)
        if address is None:
            raise Refused(
                f"the {flag} {kind} is {now}, which the YAML does not declare", hint=f'Declare it, and write "{flag}: true" there.'
            )
        self._check_plain(each, before, flag, self.desired.resources[each.one.address].positions.get(each.delta.name))
        self._edits[before][flag] = DROP
        self._edits[address][flag] = True

    def _text(self, address: Address) -> str:
        return self.texts[self.desired.resources[address].source.file]

    def _check_plain(self, each: Accepted, address: Address, name: str, at: Source | None) -> None:
        """Raise `Refused` where what is written is an expression."""
        found = raw(self._text(address), self._place(address), name)
        if found is None or not holds_expression(found):
            return
        try:
            computed = any(isinstance(part, Hole) for part in holes(found))
        except ExpressionError:
            computed = True
        if computed:
            at = at or self.desired.resources[address].source
            raise Refused(
                f"{each} comes from an expression: {found.splitlines()[0]}",
                hint=f"Change the expression or its sources: {at.file}:{at.line}:{at.column}.",
            )

    # -- references ----------------------------------------------------------------------------------------------------------------

    def _reference(self, at: Address, kind: str, id: str) -> Any:
        """A reference as it is written where `at` stands: the key of what is declared there, else `{id: …}`."""
        whole = self.kinds[kind].identity(id, path_ids(self.kinds, at, self.ids.get))
        removed = self.excluded.get((kind, whole))
        if removed is not None:
            raise Unwritable(removed_by(removed, self.desired.excluded[removed].source))
        address = self.addresses.get((kind, whole))
        key = address.key if address is not None else self._undeclared_key(kind, whole)
        return key if key is not None and self._id(at, kind, key) == id else {"id": id}

    def _undeclared_key(self, kind: str, id: str) -> str | None:
        """The key of what may be referenced without being declared."""
        one, key_is = self.actual.find(kind, id), self.kinds[kind].place.key_is
        if one is None or not self.kinds[kind].undeclared or key_is is None:
            return None
        value = one.values.get(key_is)
        return value if isinstance(value, str) else None

    def _id(self, at: Address, kind: str, key: str) -> str | None:
        """The service's id behind a bare key, seen from an address."""
        try:
            address = self.kinds.address(at, kind, key)
        except (KeyError, ValueError):
            return None
        if address in self.ids:
            return bare(self.ids[address])
        within = path_ids(self.kinds, at, self.ids.get)
        here = (id for id in self.actual.objects.get(kind, {}) if self.kinds[kind].identity(bare(id), within) == id)
        return next((bare(id) for id in here if self._undeclared_key(kind, id) == key), None)
