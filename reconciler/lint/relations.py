"""Rules about how resources relate: siblings that are too similar, containers without a part that readers see first, and resources without
references to them, such as a space that no site shows. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from reconciler.address import Address, addresses_in
from reconciler.lint.facts import LintFacts, finding, level
from reconciler.model import Declared, Finding
from reconciler.resource import Field, FieldRole, Kind, Missed
from reconciler.text.names import canonical


def duplicate_title(facts: LintFacts) -> Iterator[Finding]:
    """The natural key of a sibling: people see two that look the same, and an existing object cannot be matched to one of them."""
    first: dict[tuple[Any, ...], Declared] = {}
    names = {name: _titles(kind) for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        texts = tuple((name, declared.values.get(name)) for name in names[declared.kind])
        if not texts or any(not isinstance(value, str) for _, value in texts):
            continue
        other = first.setdefault((*_place(facts, declared), *texts), declared)
        if other is not declared:
            name, text = texts[0]
            message = f"{name} {text!r} is also the {name} of {other.address}, next to it"
            yield finding("duplicate-title", message, declared, field=name, remedy=f"give one of them another {name}")


def similar_name(facts: LintFacts) -> Iterator[Finding]:
    """Names of siblings that differ only in case, white space or the form of Unicode: services and people take them for the same."""
    first: dict[tuple[Any, ...], Declared] = {}
    names = {name: [*_titles(kind), *_caseless_keys(kind)] for name, kind in facts.kinds.items()}
    for declared in facts.resources:
        texts = [(name, value) for name in names[declared.kind] if isinstance(value := declared.values.get(name), str)]
        if not texts or len(texts) < len(names[declared.kind]):
            continue
        folded = tuple(canonical(value, caseless=True) for _, value in texts)
        other = first.setdefault((*_place(facts, declared), *folded), declared)
        different = next(((name, value) for name, value in texts if other.values[name] != value), None)
        if different is not None:
            name, text = different
            same = f"the {name} {other.values[name]!r} of {other.address}"
            message = f"{name} {text!r} differs from {same} only in case, white space or Unicode form"
            yield finding("similar-name", message, declared, field=name, remedy=f"give one of them another {name}")


def _caseless_keys(kind: Kind) -> list[str]:
    """The fields whose value is the key in the YAML, where case has no meaning in it."""
    return [field.name for field in kind.keys if field.caseless and field.name == kind.place.key_is]


def _place(facts: LintFacts, declared: Declared) -> tuple[str, Address | None, Any]:
    """The location in which names of siblings are compared."""
    inside = facts.kinds[declared.kind].inside
    return declared.kind, declared.address.container, declared.values.get(inside.name) if inside is not None else None


def _titles(kind: Kind) -> list[str]:
    """The texts that identify an object for the program and for people."""
    return [
        field.name
        for field in kind.keys
        if field.role is FieldRole.VALUE and field.refers is None and not field.sensitive and field.name != kind.place.key_is
    ]


def suffixed_path(facts: LintFacts) -> Iterator[Finding]:
    """A derived value that a sibling already has: the service would add a number to it."""
    derived = {name: _derived(kind) for name, kind in facts.kinds.items()}
    groups: dict[tuple[Any, ...], list[tuple[Declared, Field]]] = defaultdict(list)
    for declared in facts.resources:
        for field in derived[declared.kind]:
            groups[(field.name, *level(facts.kinds, declared))].append((declared, field))
    for members in groups.values():
        taken: dict[str, Address] = {}
        for declared, field in members:
            written = declared.values.get(field.name)
            if isinstance(written, str):
                taken.setdefault(written, declared.address)
        for declared, field in members:
            plain = _plain(facts, declared, field) if field.name not in declared.values and declared.id is None else ""
            if not plain:
                continue
            holder = taken.setdefault(plain, declared.address)
            if holder != declared.address:
                message = f"its {field.name} would be {plain} with a number, because {holder} has {plain}"
                yield finding("suffixed-path", message, declared, remedy=f"write {field.name}")


def _derived(kind: Kind) -> list[Field]:
    return [field for field in kind.fields.values() if field.unique and field.derived is not None]


def _plain(facts: LintFacts, declared: Declared, field: Field) -> str:
    """The value that the service derives, if the files contain its source; "" otherwise."""
    derived = field.derived
    assert derived is not None
    source: Declared | None = declared
    if derived.reference is not None:
        named = declared.values.get(derived.reference)
        source = facts.desired.resources.get(named) if isinstance(named, Address) else None
    text = source.values.get(derived.field) if source is not None else None
    return derived.form(text) if isinstance(text, str) else ""


def _choices(facts: LintFacts, kind: str) -> list[Field]:
    return [field for field in facts.kinds[kind].fields.values() if field.role is FieldRole.CHOICE]


def nothing_to_show(facts: LintFacts) -> Iterator[Finding]:
    """A new container without any part, or one with a declared empty list. The parts of an existing one may be unmanaged."""
    for declared in facts.resources:
        fields = _choices(facts, declared.kind)
        if not fields or any(facts.parts[declared.address, field.name] for field in fields):
            continue
        kinds = [str(field.to) for field in fields]
        if declared.id is None or any((declared.address, kind) in facts.desired.written for kind in kinds):
            parts = " and no ".join(kinds)
            yield finding("nothing-to-show", f"it contains no {parts}, so readers find nothing", declared, remedy=f"declare a {kinds[0]}")


def no_default(facts: LintFacts) -> Iterator[Finding]:
    """Several parts, and none of them is the default."""
    for declared in facts.resources:
        for field in _choices(facts, declared.kind):
            number = facts.parts[declared.address, field.name]
            if number > 1 and field.name not in declared.values:
                message = f"it has {number} parts of kind {field.to} and no {field.flag}: readers land on the one that was created first"
                yield finding("no-default", message, declared, remedy=f'write "{field.flag}: true" on one {field.to}')


def missed(facts: LintFacts) -> Iterator[Finding]:
    """Report the resources that `missed` of a declaration describes.

    Only if the container has a resource that could refer: an organization without sites publishes nothing, so its spaces are on no site.
    The source of copies is a template and need not be shown.
    """
    sentences = {
        (name, field.name): field.missed for name, kind in facts.kinds.items() for field in kind.fields.values() if field.missed is not None
    }
    for (referring, name), word in sentences.items():
        named: set[Address] = set()
        scopes: set[Address] = set()
        for declared in facts.resources:
            if declared.kind == referring and name in declared.values:
                named.update(addresses_in(declared.values[name]))
                scopes.update(declared.address.containers)
        yield from _missed(facts, word, named, scopes)


def _missed(facts: LintFacts, word: Missed, named: set[Address], scopes: set[Address]) -> Iterator[Finding]:
    for declared in facts.resources:
        if declared.kind != word.kind or declared.address in named or declared.address in facts.copied:
            continue
        if declared.address.container in scopes:
            yield finding(word.rule, f"it {word.says}", declared, remedy="refer to it, or remove it if nobody needs it")
