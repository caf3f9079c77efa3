"""The proof that a proposal changed what its operations say and nothing else, whatever wrote the texts. Pure.

    texts before and after       -> rules       every key at the top of a file that declares no resources is as before, every expression too
    projects before and after    -> unrequested_change  nothing appears, disappears or changes that no operation names; no consent changes

In: the texts and the projects of all environments, before and after. Out: the first difference as a sentence; None where there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reconciler.address import Address
from reconciler.config.keys import ENVIRONMENTS
from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.expressions import Hole, holes
from reconciler.config.source.nodes import HOLE_OPENING
from reconciler.features.edits.operations import EditOperation
from reconciler.model import Declared, Desired, Source
from reconciler.resource import FieldRole, Kinds
from reconciler.yamltext.line_ends import plain
from reconciler.yamltext.tree import Node, parse

REMOVED = "removed"


def sources(text: str) -> tuple[str, ...]:
    """The sources of the expressions of a text; of one that is not closed, the text."""
    if HOLE_OPENING not in text:
        return ()
    try:
        return tuple(part.source.strip() for part in holes(text) if isinstance(part, Hole))
    except ExpressionError:
        return (text,)


def changed_rule(kinds: Kinds, before: Mapping[str, str], after: Mapping[str, str], desired: Sequence[Desired]) -> str | None:
    """What texts change that no operation may. `before`, `after`: every YAML file; `desired`: the project before, in each environment."""
    if before.keys() != after.keys():
        return "a file appeared or disappeared"
    begins = {(declared.source.file, declared.source.line, declared.source.column) for part in desired for declared in _written(part)}
    own = {name for kind in kinds.values() for name in kind.place.sections}
    trees = {name: (parse(plain(before[name])).root, parse(plain(after[name])).root) for name in before if before[name] != after[name]}
    for name, (old, new) in trees.items():
        if name.startswith(f"{ENVIRONMENTS}/"):
            return f"{name} belongs to an environment"
        rules = [_rules(name, plain(text), root, own, begins) for text, root in ((before[name], old), (after[name], new))]
        if rules[0] != rules[1]:
            key = next(key for key in {**rules[0], **rules[1]} if rules[0].get(key) != rules[1].get(key))
            return f"{key} in {name} would change"
        if not _only_forgets(old, new):
            return f"{REMOVED} in {name} would change"
    counts = [Counter(source for pair in trees.values() for text in _texts(pair[at]) for source in sources(text)) for at in (0, 1)]
    more = next(iter(counts[1] - counts[0]), None)
    return "an expression would be added" if more is not None else None


def _written(desired: Desired) -> Iterator[Declared]:
    yield from desired.resources.values()
    yield from (excluded.declared for excluded in desired.excluded.values())


def _rules(name: str, text: str, root: Node, own: set[str], begins: set[tuple[str, int, int]]) -> dict[str, str]:
    """The raw values of the keys at the top of a file that declare no resources."""
    rules = {}
    for child in root.children:
        at = (name, text.count("\n", 0, child.start) + 1, child.start - text.rfind("\n", 0, child.start))
        if child.key is not None and child.key.text not in own and child.key.text != REMOVED and at not in begins:
            rules[child.key.text] = text[child.value.start : child.value.end].rstrip()
    return rules


def _only_forgets(old: Node, new: Node) -> bool:
    """Whether `removed` only gets addresses that are no longer managed."""
    items = [
        [_data(item.value) for child in root.children if _is(child.key, REMOVED) for item in child.value.children] for root in (old, new)
    ]
    added = items[1][len(items[0]) :]
    return items[1][: len(items[0])] == items[0] and all(isinstance(item, dict) and item.get("action") == "forget" for item in added)


def _is(key: Node | None, text: str) -> bool:
    return key is not None and key.text == text


def _data(node: Node) -> Any:
    if node.shape == "map":
        return {child.key.text: _data(child.value) for child in node.children if child.key is not None}
    return [_data(child.value) for child in node.children] if node.shape == "list" else node.text


def _texts(node: Node) -> Iterator[str]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part.text
        for child in part.children:
            waiting += [child.value, *([child.key] if child.key is not None else [])]


# -- projects ----------------------------------------------------------------------------------------------------------------------------


def unrequested_change(kinds: Kinds, before: Desired, after: Desired, operations: Sequence[EditOperation]) -> str | None:
    """What differs between two projects that no operation says. None of these is a rename, which proves itself."""
    earlier, later = _own(before), _own(after)
    # What was moved may have been added before, or was removed with what it was moved into.
    named = {op: {operation.address for operation in operations if operation.op == op} for op in ("set", "add", "move", "remove")}
    for address in later.keys() - earlier.keys():
        if not any(_inside(later, address, added) for added in named["add"] | named["move"]):
            return f"{address} would be declared"
        if (exception := _exception(after, address)) is not None:
            return f"{address} would be covered by the exception at {exception}"
    for address in earlier.keys() - later.keys():
        if not any(_inside(earlier, address, removed) for removed in named["remove"] | named["move"]):
            return f"{address} would not be declared any more"
    for address in named["add"] if not named["remove"] else ():
        if address not in later:
            return f"{address} would not be declared"
    for address in earlier.keys() & later.keys():
        old, new = earlier[address], later[address]
        if _consents(kinds, old) != _consents(kinds, new):
            return f"a rule or a consent of {address} would change"
        again = any(_inside(later, address, added) for added in named["add"])  # removed, and added by the same proposal
        if address not in named["set"] and not again and _values(kinds, old) != _values(kinds, new):
            return f"{address} would change"
        if address not in named["move"] and not again and (old.parent, old.section) != (new.parent, new.section):
            return f"{address} would be moved"
    return "a rule would change" if before.rules != after.rules else None


def _exception(desired: Desired, address: Address) -> Source | None:
    """The exception whose pattern a new resource is in: from a policy that it would otherwise be judged by."""
    kind = desired.resources[address].kind if address in desired.resources else None
    rules = {rule.id for rule in desired.policies.rules if kind is not None and not rule.whole and rule.applies(address, kind)}
    lines = (line for line in desired.policies.exemptions if line.policy in rules and line.glob is not None)
    return next((line.source for line in lines if line.covers(address)), None)


def _own(desired: Desired) -> dict[Address, Declared]:
    declared = {address: resource for address, resource in desired.resources.items() if not resource.implied}
    return declared | {address: excluded.declared for address, excluded in desired.excluded.items()}


def _inside(declared: Mapping[Address, Declared], address: Address, other: Address) -> bool:
    """Whether the lines of a resource are those of another one, or among them."""
    at: Address | None = address
    while at is not None and at != other:
        at = declared[at].parent if at in declared else None
    return at is not None


def _consents(kinds: Kinds, declared: Declared) -> tuple[Any, ...]:
    """What only people say of a resource."""
    fields = kinds[declared.kind].fields
    private = {name: value for name, value in declared.values.items() if fields[name].role is FieldRole.LOCAL or fields[name].sensitive}
    expected = {name: value.value for name, value in declared.expected.items()}
    return declared.protect, declared.adopt, declared.id, declared.previously, declared.ignores, expected, private


def _values(kinds: Kinds, declared: Declared) -> dict[str, Any]:
    """What the lines of a resource say: not what follows from those of others."""
    fields = kinds[declared.kind].fields
    return {name: value for name, value in declared.values.items() if fields[name].written}
