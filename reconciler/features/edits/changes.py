"""The texts of a project with operations carried out, one after the other; every other byte is as before. Pure.

    operations ──> ChangedTexts.run ──> texts      each resource has a mark, which moves with its lines
                                        |
                   what `set` may not write: what an expression, an alias or a forEach gives, which is changed where that is written

In: the texts, and what the project declares in each of its environments. Out: the new texts by file. Raises `Refused` with the line that
decides, and what to change there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from reconciler.address import Address
from reconciler.config.keys import ENVIRONMENTS
from reconciler.config.resources.shapes import KindShape
from reconciler.config.source.nodes import ESCAPED, HOLE_OPENING
from reconciler.errors import Refused
from reconciler.features.edits.operations import BY_HAND, EditOperation
from reconciler.features.edits.proof import changed_rule, sources, unrequested_change
from reconciler.features.edits.release import release
from reconciler.features.edits.rename import renamed
from reconciler.features.edits.texts import ProjectTexts
from reconciler.features.edits.writer import ProjectWriter, Row
from reconciler.model import Desired
from reconciler.resource import Kind, Kinds
from reconciler.text.escape import is_plain
from reconciler.text.names import a, did_you_mean
from reconciler.yamltext.emit import EmittedEntry, EmittedExpression, EmittedList, EmittedMap
from reconciler.yamltext.entries import DROP
from reconciler.yamltext.trail import end, entry, node, resource
from reconciler.yamltext.tree import Node, Untouchable, leaves


def carried_out(texts: ProjectTexts, operations: Sequence[EditOperation]) -> ProjectTexts:
    """The project with the operations carried out, in their order; it is valid in each environment.

    Raises `Refused` and `UsageError` for what is not possible, and `ConfigError` if the project is not valid before, before a rename, or at
    the end.
    """
    for _, run in groupby(operations, key=lambda operation: operation.number if operation.op in ("rename", "release") else 0):
        group = tuple(run)
        if group[0].op == "release":  # of what is declared by then: the operations before are written
            group = release(texts.kinds, next(iter(texts.projects.values())).desired, group[0])
        texts = _renamed(texts, group[0]) if group[0].op == "rename" else _written(texts, group)
    return texts


def _renamed(texts: ProjectTexts, operation: EditOperation) -> ProjectTexts:
    try:
        return texts.with_texts(renamed(texts, operation.address, operation.key))
    except Refused as error:
        raise Refused(f"{operation}: {error.message}", id=error.id, hint=error.hint) from None


def _written(texts: ProjectTexts, operations: Sequence[EditOperation]) -> ProjectTexts:
    """The project after operations of which none is a rename. Nothing is believed: it is loaded, and compared with the one before."""
    desired = [project.desired for project in texts.projects.values()]
    # Not those of environments and tests: these are not read for what the project declares.
    read = {path.relative_to(project.settings.root).as_posix() for project in texts.projects.values() for path in project.settings.files}
    own = {name: text for name, text in texts.texts.items() if name in read and not name.startswith(f"{ENVIRONMENTS}/")}
    run = ChangedTexts(texts.kinds, own, desired)
    for operation in operations:
        run.run(operation)
    after = texts.with_texts(run.changed())
    wrong = changed_rule(texts.kinds, texts.texts, after.texts, desired)
    for before, project in zip(desired, after.projects.values(), strict=True):
        wrong = wrong or unrequested_change(texts.kinds, before, project.desired, operations)
    if wrong is not None:
        raise Refused(f"the operations cannot be written as they are: {wrong}", id="RC-edit-by-hand", hint=BY_HAND)
    return after


class ChangedTexts(ProjectWriter):
    """Carries out operations."""

    def __init__(self, kinds: Kinds, texts: Mapping[str, str], desired: Sequence[Desired]) -> None:
        super().__init__(kinds, texts, desired)
        # In any environment: a patch of one alone can protect.
        every = [*(other for part in desired for other in (*part.resources.values(), *(out.declared for out in part.excluded.values())))]
        self.protected = {declared.address for declared in every if declared.protect}
        self.with_secrets = {
            declared.address for declared in every if any(kinds[declared.kind].fields[name].sensitive for name in declared.values)
        }

    def run(self, operation: EditOperation) -> None:
        """Carry out one operation. Raises `Refused` and `UsageError`."""
        with self.by_hand(operation, BY_HAND):
            match operation.op:
                case "set":
                    self._set(operation)
                case "add":
                    self._add(operation)
                case "move":
                    self._move(operation)
                case _:
                    self._remove(operation)

    # -- what is declared where --------------------------------------------------------------------------------------------------------

    def _literal(self, operation: EditOperation, address: Address, what: str = "") -> Kind:
        """The kind of a declared resource whose lines are its own. Raises where nothing declares it, or `forEach` generates it."""
        generation = self.generated.get(address)
        if generation is not None:
            wrong = f"{operation}: {what or address} is generated: it is {generation}"
            hint = "Ask a person to change the elements of that forEach, or the lines that it repeats."
            raise Refused(wrong, id="RC-computed-in-yaml", hint=hint)
        if address not in self.declared or not any(address in marked.marks for marked in self.files.values()):
            meant = did_you_mean(str(address), map(str, self.declared))
            raise Refused(f"{operation}: {address} is not declared{meant}", id="RC-not-declared", hint="Correct the address.")
        return self.kinds.of(address)

    def _host(self, operation: EditOperation, kind: Kind, *, current: Address | None = None) -> Row:
        """The list or map that a resource is to be in. `current`: what contains it now."""
        hosts = kind.place.hosts(kind.within)
        host = operation.host or (self.parents.get(operation.after) if operation.after is not None else None) or current
        host = host or operation.address.container
        assert host is not None
        section = hosts.get(self.kinds.of(host).name, "")
        if not section:
            operation.wrong(f"{host} cannot contain {a(kind.name)}; in must name {' or '.join(map(a, hosts))}")
        self._literal(operation, host)
        if self.kinds.container(host, str(kind.within)) != operation.address.container:
            operation.wrong(f"{host} is not in {operation.address.container}, where the address is")
        return host, section

    def _behind(self, operation: EditOperation, row: Row) -> Address | None:
        """The member that a resource is to follow; None for the first position."""
        members, after = self.rows[row], operation.after
        if after is not None and after not in members:
            self._literal(operation, after) if after not in self.generated else None
            operation.wrong(f"after is {after}, which is not in {row[1]} of {row[0]}")
        behind = after or (members[-1] if members and not operation.first else None)
        generation = self.generation_around(row, behind)
        if generation is not None and behind is not None:
            both = f"{behind} and {members[members.index(behind) + 1]}"
            wrong = f"{operation}: {both} are generated by one forEach, at {generation.source}: nothing can be between"
            raise Refused(wrong, id="RC-computed-in-yaml", hint="Name another position, or ask a person to change the forEach.")
        return behind

    # -- set ---------------------------------------------------------------------------------------------------------------------------

    def _set(self, operation: EditOperation) -> None:
        address = operation.address
        kind = self._literal(operation, address)
        values: dict[str, Any] = {}
        for name in (*operation.fields, *operation.unset) if address in self.with_secrets else ():
            if (field := kind.fields.get(name)) is not None and not field.readable:
                operation.refuse(f"{name} may be a program that reads the secrets of {address}: what gets them is decided by people")
        for name, value in operation.fields.items():
            old = self.value(address, name)
            values[name] = (
                self._checked(operation, name, old, value) if old is not None else self._with_expressions(operation, name, None, value)
            )
        for name in operation.unset:
            old = self.value(address, name)
            if old is None or kind.place.value_is is not None:
                declared = self.declared[address]
                given = f"; defaults give it, at {declared.positions[name]}" if name in declared.from_defaults else ""
                raise Refused(f"{operation}: {name} is not written there{given}", id="RC-not-declared", hint=BY_HAND if given else None)
            values[name] = DROP
        self.set({address: values}, operation, BY_HAND)

    def _checked(self, operation: EditOperation, name: str, old: Node | None, value: Any) -> Any:
        """The value as it is written, its expressions as they are. Raises `Refused` where something else gives the present one."""
        if old is None:
            return self._with_expressions(operation, name, None, value)
        file = self.moving.file(operation.address)
        alias = next((leaf for leaf in leaves(old) if leaf.shape == "alias"), None)
        if alias is not None:
            anchor = next((other for other in _nodes(self.root(file)) if other.anchor == alias.text), None)
            at = f", which is written at {self.source(file, anchor.start)}" if anchor is not None else ""
            wrong = f"{operation}: {name} is the alias *{alias.text}{at}"
            raise Refused(wrong, id="RC-computed-in-yaml", hint="Ask a person to change what it repeats, or to write a value here.")
        reader = self.shapes[self.kinds.of(operation.address).name].readers.get(name)
        if reader is not None and reader.field.secret_allowed and any(_expressions(leaf.text) for leaf in leaves(old)):
            where = self.source(file, old.start)
            operation.refuse(f"{name} contains an expression, at {where}, which may be a secret: what is sent with it is decided by people")
        return self._with_expressions(operation, name, old, value)

    def _with_expressions(self, operation: EditOperation, name: str, old: Node | None, value: Any) -> Any:
        """The value, in which each text with expressions is written as it is: it stands where the same expressions are written now."""
        if isinstance(value, Mapping):
            keys = {child.key.text: child.value for child in old.children if child.key is not None} if old is not None else {}
            for key in keys.keys() - value.keys():
                self._check_kept(operation, f"{name}.{key}", keys[key])
            if old is not None and old.shape != "map":
                self._check_kept(operation, name, old)
            return {key: self._with_expressions(operation, f"{name}.{key}", keys.get(key), part) for key, part in value.items()}
        if isinstance(value, list):
            items = [child.value for child in old.children if child.key is None] if old is not None else []
            for number, item in enumerate(items[len(value) :], len(value)):
                self._check_kept(operation, f"{name}[{number}]", item)
            if old is not None and old.shape != "list":
                self._check_kept(operation, name, old)
            beside = [*items[: len(value)], *[None] * (len(value) - len(items))]
            pairs = enumerate(zip(beside, value, strict=True))
            return [self._with_expressions(operation, f"{name}[{at}]", node, part) for at, (node, part) in pairs]
        text = value if isinstance(value, str) else ""
        if HOLE_OPENING not in text:
            if old is not None:
                self._check_kept(operation, name, old)
            return value
        written = old.text if old is not None and old.shape == "scalar" else ""
        if _expressions(text) != _expressions(written) or not (text == written or all(map(is_plain, text))):
            wrong = f"{name} contains an expression that the present value does not have"
            operation.refuse(wrong, "Write the value, or keep the expressions of the present value as they are.")
        return EmittedExpression(text)

    def _check_kept(self, operation: EditOperation, name: str, old: Node) -> None:
        """Raise `Refused` where an expression would be lost."""
        leaf = next((leaf for leaf in leaves(old) if any(part != ESCAPED for part in _expressions(leaf.text))), None)
        if leaf is None:
            return
        at = self.source(self.moving.file(operation.address), leaf.start)
        wrong = f"{operation}: {name} comes from an expression, at {at}"
        hint = "Keep its expressions in the value as they are, or ask a person to change them or their sources."
        raise Refused(wrong, id="RC-computed-in-yaml", hint=hint)

    # -- add ---------------------------------------------------------------------------------------------------------------------------

    def _add(self, operation: EditOperation) -> None:
        address = operation.address
        kind = self.kinds.of(address)
        if address in self.declared:
            at = self.declared[address].source
            raise Refused(f"{operation}: it is already declared, at {at}", id="RC-declared-twice", hint="Use set, or another key.")
        row = self._host(operation, kind)
        if not kind.place.in_list and (operation.after is not None or operation.first):
            operation.wrong(f"the order of {row[1]} has no meaning: leave out after and first")
        behind = self._behind(operation, row) if kind.place.in_list else None
        self.add(row, {address: self._line(operation, kind, row)}, behind)

    def _line(self, operation: EditOperation, kind: Kind, row: Row) -> EmittedEntry:
        """A new resource as it is written."""
        address, place, fields = operation.address, kind.place, dict(operation.fields)
        if place.value_is is not None:
            value: Any = fields.get(place.value_is)
            if fields.keys() != {place.value_is}:
                operation.wrong(f"fields must be {place.value_is}")
        elif place.tag is not None:
            named = fields.pop(place.tag, address.key)
            own = {"key": address.key} if named != address.key else {}
            value = {place.tag: named, **own, **fields}
        else:
            value = fields
        bare = value[place.bare_is] if place.bare_is is not None and isinstance(value, dict) and [*value] == [place.bare_is] else None
        if isinstance(bare, str):
            value = bare
        elif isinstance(value, dict):
            value = self._emitted(self.shapes[kind.name], value)
            value.open = bool(value.lines) and self._in_lines(row)
        key = None if place.tag is not None else row[1] if place.value_is is not None else address.key
        return EmittedEntry(key, value)

    def _emitted(self, shape: KindShape, values: Mapping[str, Any]) -> EmittedMap:
        """The values of a new resource; what it contains has lines of its own, as `import` writes it."""
        written = EmittedMap()
        for name, value in values.items():
            part = value
            if name in shape.sections:
                inner = self.shapes[shape.sections[name].name]
                entries = [(key, self._emitted(inner, body) if isinstance(body, dict) else body) for key, body in value.items()]
                part = EmittedMap([EmittedEntry(key, body) for key, body in entries], open=bool(value))
            elif name in shape.lists:
                members = shape.lists[name]
                kinds = [next((members[tag] for tag in members if isinstance(body, dict) and tag in body), None) for body in value]
                nodes = [self._emitted(self.shapes[kind.name], body) if kind else body for kind, body in zip(kinds, value, strict=True)]
                part = EmittedList(
                    [EmittedEntry(None, body) for body in nodes], open=any(kind and not kind.place.bare_is for kind in kinds)
                )
            written.lines.append(EmittedEntry(name, part))
        return written

    def _in_lines(self, row: Row) -> bool:
        """Whether the members of a list or map have lines of their own, so that a new one has too."""
        maps = []
        for address in self.rows[row]:
            file = self.moving.file(address)
            find = node if self.kinds.of(address).place.in_list else resource
            body = find(self.root(file), self.files[file].marks[address])[1]
            maps += [body] if body.shape == "map" else []
        return bool(maps) and not any(body.flow for body in maps)

    # -- move and remove ---------------------------------------------------------------------------------------------------------------

    def _move(self, operation: EditOperation) -> None:
        address = operation.address
        kind = self._literal(operation, address)
        if not kind.place.in_list:
            operation.wrong(f"{a(kind.name)} has no position, and its container cannot change")
        row = self._host(operation, kind, current=self.parents[address])
        if row[0] == address or self.moving.is_within(row[0], address):
            operation.wrong(f"{row[0]} is inside {address}")
        if operation.after == address:
            operation.wrong("after is the resource itself")
        before: Row = next(other for other, members in self.rows.items() if address in members)
        self.rows[before].remove(address)
        behind = self._behind(operation, row)
        self.move(address, row, behind)

    def _remove(self, operation: EditOperation) -> None:
        address = operation.address
        self._literal(operation, address)
        file, contents = self.moving.file(address), [*self.contents(address)]
        for inner in (address, *contents):
            if inner in self.protected:
                at = self.source(self.moving.file(inner), self.files[self.moving.file(inner)].marks[inner])
                operation.refuse(f"{inner} is protected, at {at}, and protect is a rule", "Ask a person to remove that line first.")
            if inner not in self.files[file].marks:
                wrong = f"{inner} is in another file, {self.moving.file(inner)}, which would be left over"
                raise Refused(f"{operation}: {wrong}", id="RC-edit-by-hand", hint="Remove that first, or ask a person.")
        self.remove(address, contents)
        if operation.forget:
            self._forget(address)

    def _forget(self, address: Address) -> None:
        """Write that an object is no longer managed."""
        name = next((name for name in self.files if entry(self.root(name), "removed") is not None), self.top)
        self.moving.latest = name
        marked = self.files[name]
        root = self.root(name)
        item = f"{{address: {address:yaml}, action: forget}}"
        child = entry(root, "removed")
        if root.flow or (child is not None and child.value.shape != "list"):
            raise Untouchable.at("nothing can be added to removed here", marked.text, root.start)
        if child is None:
            at = end(marked.text, root.children[-1])
            begun = "" if marked.text.endswith("\n", 0, at) else "\n"
            marked.insert(at, f"{begun}removed:\n  - {item}\n")
        elif child.value.flow:
            members = child.value.children
            marked.insert(members[-1].value.end if members else child.value.end - 1, f", {item}" if members else item)
        else:
            last = child.value.children[-1]
            at = end(marked.text, last)
            begun = "" if marked.text.endswith("\n", 0, at) else "\n"
            marked.insert(at, f"{begun}{' ' * last.column}- {item}\n")


def _nodes(root: Node) -> Iterator[Node]:
    yield root
    for child in root.children:
        yield from _nodes(child.value)


def _expressions(text: str) -> tuple[str, ...]:
    """The sources of the expressions of a text, and each mark that is written to have none."""
    return tuple(sorted([*sources(text), *[ESCAPED] * text.count(ESCAPED)]))
