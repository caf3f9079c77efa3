"""`moved` and `removed`: new names and the treatment of addresses that are no longer declared. Pure.

In: lists of every file, and the declared addresses. Out: `Moved` and `Removed`, each checked against them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal, cast

from reconciler.address import Address
from reconciler.config.keys import ENVIRONMENTS, MOVED, REMOVED, REMOVED_ACTIONS
from reconciler.config.resources.shapes import Item
from reconciler.config.settings import KeyReader
from reconciler.config.source.nodes import Map, MapEntry
from reconciler.config.source.problems import EACH_ITS_OWN, Problems, described_or_nothing, items_of, wrong_form
from reconciler.model import Moved, Removed, Source
from reconciler.resource import Kinds
from reconciler.text.names import a, did_you_mean

ONLY_THERE: Final = "if another environment removes it, write this line in the file of that environment"
AGAIN: Final = "if it was renamed again, add {{from: {}, to: ADDRESS}}; if it was removed, remove this line"
WAY: Final = "; remove the line if the rename was already applied. To swap two keys, write previously on both"


def read_moved(
    kinds: Kinds, entries: list[MapEntry], items: Mapping[Address, Item], problems: Problems, *, excluded: Collection[Address] = ()
) -> tuple[Moved, ...]:
    """The renamed addresses, in the order of the files. Lines may form a chain, the history of a name: each maps to its last address.

    `excluded`: the addresses that the environment removes; a move to one of them has no effect there, as `previously` of it has none.
    """
    moves: dict[Address, Moved] = {}
    targets: dict[Address, Source] = {}
    for node in _nodes(entries, problems):
        keys = KeyReader("moved", node.entries, problems)
        old, new = _address(kinds, keys, "from", items, problems), _address(kinds, keys, "to", items, problems)
        keys.rest()
        old, new = (_with_container(kinds, keys, key, address, problems) for key, address in (("from", old), ("to", new)))
        for key in keys.missing(MOVED):
            problems.add(node.at, f"moved lacks {key}; write {{from: ADDRESS, to: ADDRESS}}", id="RC-missing-key")
        if old is None or new is None:
            continue
        at, target = node.entries["from"].node.at, node.entries["to"].node.at
        if old in moves:
            problems.add(at, f"{old} is moved twice; first at {moves[old].source}", id="RC-moved-twice")
        elif kinds.of(old) is not kinds.of(new):
            problems.add(
                target, f"{a(kinds.of(old).name)} cannot become {a(kinds.of(new).name)}: {old} is moved to {new}", id="RC-another-kind"
            )
        elif old.root != new.root and old != old.root and kinds.of(old).transferable is None:
            can = " and ".join(f"{kind.name}s" for kind in kinds.values() if kind.transferable is not None)
            what = f"{old} is moved from {old.root} to {new.root}, but the service transfers only {can}"
            problems.add(
                target, f"{what}; remove the line: it is then deleted in {old.root}, and created in {new.root}", id="RC-not-transferable"
            )
        else:
            moves[old] = Moved(old, new, at)
            targets[old] = target
    _check_former(items, moves, problems)
    # Lines are kept for those who have not applied them yet, so a name has a history: a -> b, later b -> c. Each maps to where it ends.
    for old, move in list(moves.items()):
        last, steps = move.new, 0
        while last not in items and last in moves and steps <= len(moves):
            last, steps = moves[last].new, steps + 1
        if last in excluded:
            del targets[old]
            continue
        if last not in items:
            hint = did_you_mean(str(last), (str(item) for item in items)) or ";"
            way = f"{hint} {AGAIN.format(last)}" if steps <= len(moves) else "; it is a circular move"
            problems.absent(targets[old], f"moved.to is {move.new}, which is not declared{way}", id="RC-unknown-reference")
        moves[old] = Moved(old, last, move.source)
    return tuple(move for old, move in moves.items() if old in targets)


def _check_former(items: Mapping[Address, Item], moved: Mapping[Address, Moved], problems: Problems) -> None:
    """A former address belongs to one resource; if another is declared at it, that one must have a former address too."""
    renamed = {move.new for move in moved.values()} | {item.address for item in items.values() if item.previously}
    claimed: dict[Address, tuple[Address, Source]] = {old: (move.new, move.source) for old, move in moved.items()}
    for item in items.values():
        for old, at in item.previously:
            new, first = claimed.setdefault(old, (item.address, at))
            if old == item.address:
                problems.add(at, f'previously names "{old.key}", which is its key; remove it', item.address, id="RC-former-is-current")
            elif old in items and old not in renamed:
                wrong = f'previously names "{old.key}", which is still declared at {items[old].at}{WAY}'
                problems.add(at, wrong, item.address, id="RC-former-still-declared")
            elif new != item.address:
                others = f"as does {first}" if first != at else f"as do all elements here; {EACH_ITS_OWN}"
                problems.add(at, f'previously names "{old.key}", {others}', item.address, id="RC-moved-twice")
    for old, move in moved.items():
        if old in items and not any(above in renamed for above in (old, *old.containers)):
            wrong = f"moved.from is {old}, which is still declared at {items[old].at}{_way(move, items)}"
            problems.add(move.source, wrong, id="RC-former-still-declared")


def _way(move: Moved, items: Collection[Address]) -> str:
    """What to do about a line whose former address is still declared."""
    if move.new not in items:
        return f"; if that is the new address, write {{from: {move.new:yaml}, to: {move.old:yaml}}}"
    if move.old.root != move.new.root:
        return "; remove the line if it was already transferred. To exchange two objects, write a line for both"
    return WAY


def read_removed(
    kinds: Kinds, entries: list[MapEntry], items: Mapping[Address, Item], moved: Collection[Moved], problems: Problems, *, chosen: bool
) -> dict[Address, Removed]:
    """The treatment of single addresses. `chosen`: whether the project has environments."""
    renamed = {move.old: move.new for move in moved} | {old: item.address for item in items.values() for old, _ in item.previously}
    removals: dict[Address, Removed] = {}
    for node in _nodes(entries, problems):
        keys = KeyReader("removed", node.entries, problems)
        address, action = _address(kinds, keys, "address", items, problems), keys.choice("action", REMOVED_ACTIONS)
        keys.rest()
        for key in keys.missing(REMOVED):
            problems.add(node.at, f"removed lacks {key}; write {{address: ADDRESS, action: forget}}", id="RC-missing-key")
        if address is None or action is None:
            continue
        at = node.entries["address"].node.at
        if kinds.of(address).one_per and action != "forget":
            wrong = f"removed.action is {action}, but {address} cannot be deleted, only with {address.container}; write forget"
            problems.add(node.entries["action"].node.at, wrong, id="RC-unknown-choice")
        elif address in items:
            here = at.file.startswith(f"{ENVIRONMENTS}/")
            patch = f"a patch must remove it here: {{match: {address}, remove: true}}"
            way = (patch if here else ONLY_THERE) if chosen else "remove its lines there, or this line"
            wrong = f"removed.address is {address}, which is still declared at {items[address].at}; {way}"
            problems.add(at, wrong, id="RC-former-still-declared")
        elif address in renamed:
            way = "keep one of the two lines"
            problems.add(
                at, f"removed.address is {address}, which is a former address of {renamed[address]}; {way}", id="RC-former-is-current"
            )
        elif address in removals:
            problems.add(at, f"{address} is removed twice; first at {removals[address].source}", id="RC-moved-twice")
        else:
            removals[address] = Removed(address, cast(Literal["forget", "delete", "delete-all"], action), at)
    return removals


def _nodes(entries: list[MapEntry], problems: Problems) -> list[Map]:
    maps: list[Map] = []
    for entry in entries:
        form = "{from: ADDRESS, to: ADDRESS}" if entry.key == "moved" else "{address: ADDRESS, action: forget}"
        for node in items_of(entry, "a list", f"write [{form}]", problems.add):
            if isinstance(node, Map):
                maps.append(node)
            else:
                wrong = f"an item of {entry.key} must be a map, not {described_or_nothing(node)}; write {form}"
                problems.add(node.at, wrong, id=wrong_form(node))
    return maps


def _address(kinds: Kinds, keys: KeyReader, key: str, items: Collection[Address], problems: Problems) -> Address | None:
    written = keys.text(key)
    if written is None:
        return None
    text, at = written
    name = keys.path(key)
    try:
        address = Address.parse(text)
    except ValueError as error:
        problems.add(at, f"{name}: {error}", id="RC-address-form")
        return None
    outer = None
    for index in range(1, len(address.parts), 2):
        part = address.parts[index]
        if part not in kinds:
            problems.add(
                at, f'{name}: {text} names the kind "{part}", which does not exist{did_you_mean(part, kinds)}', id="RC-unknown-kind"
            )
            return None
        outer = kinds.roots[0].name if index == 1 else address.parts[index - 2]
        if kinds[part].within != outer:
            wrong = f"{name}: {text} is not an address: {a(part)} is not directly inside {a(outer)}; {_form(kinds, part)}"
            problems.add(at, wrong, id="RC-address-form")
            return None
    one_per = address.kind is not None and kinds[address.kind].one_per
    if address.is_singleton != one_per:
        way = _form(kinds, address.kind) if one_per and address.kind is not None else "add a key"
        what = "ends with a key, which it does not have" if one_per else "ends with a kind"
        problems.add(at, f"{name}: {text} {what}; {way}", id="RC-address-form")
        return None
    return address


def _with_container(kinds: Kinds, keys: KeyReader, key: str, address: Address | None, problems: Problems) -> Address | None:
    """The address of a move; None, and a problem, if it has no key that can change."""
    if address is None or not kinds.of(address).one_per:
        return address
    wrong = f"{keys.path(key)}: {address} has no key and is moved with {address.container}; remove the line"
    problems.add(keys.entries[key].node.at, wrong, id="RC-address-form")
    return None


def _form(kinds: Kinds, name: str) -> str:
    """The form of the addresses of a kind, for a hint."""
    chain = [name, *kinds.containers(name)]
    parts = ["KEY"]
    for kind in reversed(chain[:-1]):
        parts += [kind] if kinds[kind].one_per else [kind, "KEY"]
    return "write " + "/".join(parts)
