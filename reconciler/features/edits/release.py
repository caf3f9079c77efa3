"""A release: the next version of what a list shows, as the operations that write it. Pure.

    v2 (default), v1   --release v3-->   space v3 copies the space of v2, and is shown in front: v3 (default), v2, v1

The plan that follows copies, names, places and publishes; until its last requests, readers find the version before as the default.

In: the operation, and what the project declares. Out: operations that add, set and remove, each as somebody could have written it. What is
no longer shown keeps its space: no page is deleted. Raises `Refused` where something decides the next version that is not written in lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reconciler.address import Address, is_key
from reconciler.config.resources.shapes import KindShape, shapes
from reconciler.errors import Refused
from reconciler.features.edits.operations import EditOperation
from reconciler.model import Declared, Desired
from reconciler.resource import Kind, Kinds
from reconciler.text.names import did_you_mean, one_of


def release(kinds: Kinds, desired: Desired, operation: EditOperation) -> tuple[EditOperation, ...]:
    """The operations of a release."""
    return tuple(_Release(kinds, desired, operation).operations())


class _Release:
    """One release. `shown`: what the list has, the newest first; `member`: their kind; `copied`: the kind of what each shows."""

    def __init__(self, kinds: Kinds, desired: Desired, operation: EditOperation) -> None:
        self.kinds, self.desired, self.operation = kinds, desired, operation
        about = desired.resources.get(operation.address)
        if about is None:
            meant = did_you_mean(str(operation.address), map(str, desired.resources))
            raise Refused(f"{operation}: {operation.address} is not declared{meant}", id="RC-not-declared", hint="Correct the address.")
        self.host, self.member = about, self._member(kinds.of(operation.address))
        shown = (other for other in desired.resources.values() if other.parent == about.address and other.kind == self.member.name)
        self.shown = sorted(shown, key=lambda declared: declared.index)
        self.source = self._source()
        self.names = self._names(self.source)

    def _member(self, kind: Kind) -> Kind:
        """The kind of what shows a version: an item of a list, by a reference to something that can be copied."""
        for members in shapes(self.kinds)[kind.name].lists.values():
            for member in members.values():
                field = member.keyed_by
                if field is not None and self.kinds[str(field.refers)].seed is not None:
                    return member
        return self.operation.wrong(f"{self.operation.address} shows no versions", "Name a section, such as acme/site/docs/section/guides.")

    def _names(self, shown: Declared) -> tuple[str, ...]:
        """The texts by which people name a version: its path, then its key."""
        path = next((shown.values.get(field.name) for field in self.member.fields.values() if field.address == "segment"), None)
        return tuple(dict.fromkeys(text for text in (path, shown.address.key) if isinstance(text, str)))

    def _source(self) -> Declared:
        """The version that is copied: the named one, else the newest."""
        wanted, operation = self.operation.source, self.operation
        if not self.shown:
            return operation.wrong(f"{operation.address} shows nothing that could be copied", "Add its first version.")
        if not wanted:
            return self.shown[0]
        found = next((shown for shown in self.shown if wanted in self._names(shown)), None)
        every = [self._names(shown)[0] for shown in self.shown]
        return found or operation.wrong(f"from is {wanted}{did_you_mean(wanted, every) or '; ' + one_of(every)}")

    def operations(self) -> Iterator[EditOperation]:
        """What the release writes, in the order in which it must be written."""
        operation, name = self.operation, self.operation.key
        if any(name in self._names(shown) for shown in self.shown):
            operation.wrong(f"{operation.address} shows {name} already", "Name the next version.")
        shape, copied = shapes(self.kinds)[self.member.name], self.desired.resources[self.source.values[str(self.member.place.tag)]]
        # Generated: what writes the lines refuses an addition among them, and names the forEach.
        container = copied.address.container
        assert container is not None
        space = container.child(copied.kind, self._renamed(copied.address.key, "-"))
        seed = self.kinds[copied.kind].seed
        assert seed is not None
        titles = {field.name: self._renamed(str(copied.values[field.name]), " ") for field in self._titles(copied)}
        fields: dict[str, Any] = {**titles, seed.name: copied.address.key}
        yield self._operation("add", space, fields=fields, host=copied.parent, after=copied.address)
        flag, before = self._flag(shape)
        if flag and before is not None:
            yield self._operation("set", before.address, unset=(flag,))
        shown: dict[str, Any] = {str(self.member.place.tag): space.key}
        shown |= {field.name: name for field in self.member.fields.values() if field.address == "segment"}
        shown |= {flag: True} if flag else {}
        scope = self.source.address.container
        assert scope is not None
        yield self._operation("add", scope.child(self.member.name, space.key), fields=shown, host=self.host.address, first=True)
        yield from self._left(shape)

    def _left(self, shape: KindShape) -> Iterator[EditOperation]:
        """The removal of what is not among those that are kept."""
        keep = self.operation.keep
        left = self.shown[max(keep - 1, 0) :] if keep is not None else []
        default = self._default(shape)
        for shown in left:
            if default is not None and shown.address == default.address and not self.operation.default:
                self.operation.wrong(f"{shown.address} is the default, and keep {keep} would remove it", "Add default, or keep more.")
            yield self._operation("remove", shown.address)

    def _flag(self, shape: KindShape) -> tuple[str, Declared | None]:
        """The flag of the default, "" where the release is none; and what has it now."""
        if not self.operation.default:
            return "", None
        flag = next(
            (
                flag
                for flag in sorted(shape.flags)
                for parent, _ in self.kinds.flags(shape.kind.name)[flag]
                if parent.name == self.host.kind
            ),
            "",
        )
        return flag, self._default(shape)

    def _default(self, shape: KindShape) -> Declared | None:
        """What readers find first, where the files say it."""
        for parents in self.kinds.flags(shape.kind.name).values():
            for parent, field in parents:
                if parent.name == self.host.kind and isinstance(chosen := self.host.values.get(field.name), Address):
                    return self.desired.resources.get(chosen)
        return None

    def _titles(self, copied: Declared) -> Iterator[Any]:
        """The written fields in which the copy must differ from its source."""
        yield from (field for field in self.kinds[copied.kind].keys if isinstance(copied.values.get(field.name), str))

    def _renamed(self, text: str, between: str) -> str:
        """A text with the new version in the place of the old one; behind it, where it does not name a version."""
        for old in self.names:
            head, found, tail = text.rpartition(old)
            if found and any(map(str.isdigit, old)):  # not a word such as `guides`
                return f"{head}{self.operation.key}{tail}"
        return f"{text}{between}{self.operation.key}"

    def _operation(self, op: Any, address: Address, **words: Any) -> EditOperation:
        if not is_key(address.key):
            self.operation.wrong(f"{address.key} cannot be a key", "Choose another name.")
        return EditOperation(self.operation.number, op, address, **words)
