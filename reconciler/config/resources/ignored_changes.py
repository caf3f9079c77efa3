"""`ignoreChanges`: fields that are sent when an object is created and left alone afterwards, of one resource or by a pattern. Pure.

In: the key of a resource, or the setting of the project file, which has the name of a kind or a pattern of addresses for each list of
fields. Out: the names by resource; a problem for each name that has no meaning there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from reconciler.address import Address
from reconciler.config.keys import IGNORE_CHANGES
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import List, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, untainted, wrong_form
from reconciler.model import ORDER, Declared, Source
from reconciler.resource import FieldRole, Kind, Kinds
from reconciler.text.names import a, did_you_mean, one_of

Report = Callable[..., None]


def ignorable(kind: Kind) -> tuple[str, ...]:
    """The fields of a kind whose changes can be ignored: those that a request changes on an existing object, and `order`."""
    updated = {field.name for verb in kind.update_verbs for field in kind.sent_by(verb.name)}
    names = [name for name, field in kind.fields.items() if field.role is FieldRole.VALUE and name in updated]
    return (*names, *([ORDER] if kind.ordered else []))


def read_names(entry: MapEntry, kinds: tuple[Kind, ...], what: str, report: Report) -> dict[str, Source]:
    """The names in a list of fields, with their lines. `kinds`: of what they may be fields; `what`: that, as people read it."""
    if not isinstance(entry.node, List):
        wrong = f"{IGNORE_CHANGES} must be a list of fields, not {described(entry.node)}; write [{_example(kinds)}]"
        report(entry.node.at, wrong, id=wrong_form(entry.node))
        return {}
    known = tuple(dict.fromkeys(name for kind in kinds for name in ignorable(kind)))
    names: dict[str, Source] = {}
    for node in entry.node.items:
        if not untainted(node, IGNORE_CHANGES, report):
            continue
        name = node.text if isinstance(node, Scalar) else ""
        if name in known:
            names[name] = node.at
        elif any(name in kind.fields and kind.fields[name].written for kind in kinds):
            wrong = f"{IGNORE_CHANGES} names {name}, which no request changes on an existing {what}; remove it from the list"
            report(node.at, wrong, id="RC-ignored-field")
        else:
            hint = did_you_mean(name, known) or (f"; {one_of(known)}" if known else "; it has none")
            report(node.at, f"{IGNORE_CHANGES} names {described(node)}, which is not a field of {what}{hint}", id="RC-ignored-field")
    return names


def _example(kinds: tuple[Kind, ...]) -> str:
    return next((name for kind in kinds for name in ignorable(kind)), ORDER)


def with_ignored(
    entry: MapEntry | None, kinds: Kinds, resources: Mapping[Address, Declared], problems: Problems
) -> tuple[dict[Address, Declared], dict[str, Source]]:
    """The resources with what the setting of the project file ignores, and its entries that match no resource, by name."""
    keys = KeyReader.of(IGNORE_CHANGES, entry, problems, example="space: [order]")
    added: dict[Address, set[str]] = {}
    unused: dict[str, Source] = {}
    for pattern, inner in keys.entries.items():
        used = False
        for address, names in _matching(pattern, inner, kinds, resources, problems):
            used = True
            added.setdefault(address, set()).update(names)
        if not used:
            unused[f"{IGNORE_CHANGES}.{pattern}"] = inner.at
    changed = {address: replace(resources[address], ignores=resources[address].ignores | names) for address, names in added.items()}
    return {**resources, **changed}, unused


def _matching(
    pattern: str, entry: MapEntry, kinds: Kinds, resources: Mapping[Address, Declared], problems: Problems
) -> Iterator[tuple[Address, set[str]]]:
    """The resources that one entry of the setting is about, each with the names that are fields of it."""
    if pattern in kinds:
        chosen = [declared for declared in resources.values() if declared.kind == pattern]
        names = read_names(entry, (kinds[pattern],), a(pattern), problems.add)
    elif "/" not in pattern and "*" not in pattern and not any(str(address) == pattern for address in resources):
        wrong = f'{IGNORE_CHANGES} names "{pattern}", which is neither a kind nor an address{did_you_mean(pattern, kinds)}'
        problems.add(entry.at, wrong, id="RC-unknown-kind")
        return
    else:
        glob = problems.glob(pattern, entry.at)
        chosen = [declared for declared in resources.values() if glob is not None and glob.matches(declared.address)]
        among = tuple(kinds[name] for name in dict.fromkeys(declared.kind for declared in chosen)) or tuple(kinds.values())
        names = read_names(entry, among, f"what {pattern} matches", problems.add) if glob is not None else {}
    for declared in chosen:
        mine = names.keys() & set(ignorable(kinds[declared.kind]))
        if mine and not declared.implied:
            yield declared.address, mine


def opening(kinds: Kinds, resources: Mapping[Address, Declared]) -> frozenset[str]:
    """What is ignored and can open something, as `ADDRESS.FIELD`: the state remembers it, and adding to it requires consent."""
    return frozenset(
        f"{address}.{name}" for address, declared in resources.items() for name in declared.ignores if _opens(kinds[declared.kind], name)
    )


def _opens(kind: Kind, name: str) -> bool:
    gates = kind.audience.gates if kind.audience is not None else ()
    return name in gates or (name in kind.fields and kind.fields[name].exposes is not None)
