"""The state under the addresses that the YAML uses today: `previously` and `moved` rename what is tracked. Pure.

The premise: the state remembers objects by address. If a key changes in the YAML, the object has to keep its id under another address, or
it would be deleted and created again, without its content. A *line* (`previously: [old]` on a resource, or an entry of `moved`) says so. It
is carried out once, however long it remains in the files: the state remembers it as fulfilled.

Addresses are renamed from the outside in, one depth after the other, because a line names an object as it is called at any moment:

    state                        line                                    the state under today's addresses
    acme/site/docs               site handbook: previously: [docs]       acme/site/handbook
    acme/site/docs/section/a     -                                       acme/site/handbook/section/a       (follows its container)
    acme/site/docs/section/b     moved: acme/site/docs/section/b         acme/site/handbook/section/c       (both spellings of the
                                     -> acme/site/handbook/section/c                                         container are known)

So each address has a *plain* name (below the new name of its container) and *aliases* (all spellings that a line may use for it). Then the
addresses of one depth are settled together: two objects never get one address. Where a line leads to an address that another object keeps,
or where two lines lead to one, none of them is carried out and both ends are blocked; so swapping two names works, and a collision is never
resolved by a guess. A rename that is refused gives its old address back, which may in turn be taken: `_settle` repeats until nothing is.

A line may lead to another root, where the kind can be transferred; what is inside such a container gets the address of the same key there.
What takes its key from a reference (`- guides` in a site) follows the rename of the resource that it names, without a line of its own.
In: Desired and State. Out: the same State under new addresses, and the renames that cannot happen (`Former`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from reconciler.address import Address
from reconciler.model import Binding, Blocked, Desired, Removed, Rules, Source, State, waiting
from reconciler.resource import Kinds


@dataclass(frozen=True)
class Former:
    """The addresses of a state after the renames of the YAML. One to another root needs a request where the object does not exist yet."""

    # The state as it was read.
    before: State
    # The same under today's addresses.
    state: State
    # Every rename of the YAML that is not refused: former address to today's.
    renames: Mapping[Address, Address] = field(default_factory=dict)
    # Tracked address to today's, where they differ.
    moves: Mapping[Address, Address] = field(default_factory=dict)
    # The former address, as the YAML has it, of each tracked address that a line of the YAML renames.
    followed: Mapping[Address, Address] = field(default_factory=dict)
    # Both addresses of each rename that cannot happen.
    refused: Mapping[Address, Blocked] = field(default_factory=dict)

    @cached_property
    def today(self) -> Mapping[Address, Address]:
        """Today's address of everything whose address differs from the one in the database."""
        return {old: new for new, old in self.state.renamed.items()}

    def origin(self, address: Address) -> Address | None:
        """The root, as it is called today, that the address leaves; None where it stays in its root."""
        old = self.state.renamed.get(address)
        if old is None:
            return None
        root = self.today.get(old.root, self.state.fulfilled.get(old.root, old.root))
        return root if root != address.root else None

    def rename_blocker(self, address: Address, parents: Iterable[Address]) -> Blocked | None:
        """Why nothing is done at an address: it or one of its parents has a rename that cannot happen. None where neither has one."""
        if address in self.refused:
            return self.refused[address]
        above = next((parent for parent in parents if parent in self.refused), None) if self.refused else None
        return waiting(address, self.refused[above], self.refused[above].source) if above is not None else None


def renames(desired: Desired) -> dict[Address, Address]:
    """Every rename that the YAML asks for: former address to today's."""
    asked = {move.old: move.new for move in desired.moved}
    asked |= {old: address for address, declared in desired.resources.items() for old in declared.previously}
    return {old: new for old, new in asked.items() if old != new}


def follow(kinds: Kinds, desired: Desired, state: State, *, impossible: Mapping[Address, Blocked] | None = None) -> Former:
    """Rename what is tracked as the YAML says. Following the result again changes nothing.

    `impossible`: tracked addresses that must keep their names, for a reason that only the objects show.
    """
    asked = renames(desired)
    # `again: true` on a line of `moved` makes it ask for the same rename once more, unless this very rename is still the last one.
    if again := {move.old for move in desired.moved if move.again and state.renamed.get(move.new) != move.old}:
        state = replace(state, fulfilled={old: new for old, new in state.fulfilled.items() if old not in again})
    derived = _derived(kinds, desired, state, asked) if asked else {}
    if not _concerned({*derived, *(old for old, new in asked.items() if state.fulfilled.get(old) != new)}, state):
        return Former(state, state, asked)
    implied = _implied(kinds, desired, state, asked) | {old: new for old, (new, _) in derived.items()}
    causes = {old: line for old, (_, line) in derived.items()}
    return _Following(kinds, desired, implied, causes, state, impossible or {}).whole()


def _derived(kinds: Kinds, desired: Desired, state: State, asked: Mapping[Address, Address]) -> dict[Address, tuple[Address, Address]]:
    """The renames of resources whose key is that of a renamed resource to which they refer: the new address, and the line of that one."""
    lines: dict[Address, list[Address]] = defaultdict(list)
    for old, new in asked.items():
        if old.container == new.container:
            lines[new].append(old)
    own = {*asked.values()}
    derived: dict[Address, tuple[Address, Address]] = {}
    for address, declared in desired.resources.items():
        field = kinds[declared.kind].keyed_by
        referred = declared.values.get(field.name) if field is not None else None
        if not isinstance(referred, Address) or referred.key != address.key or address in own:
            continue
        for line in lines.get(referred, ()):
            old = kinds.address(address, declared.kind, line.key)
            # Carried out before, with a target that left this one out; unless what has the former key now is another one.
            late = state.fulfilled.get(line) == referred
            if old not in asked and not (late and (old in desired.resources or address in state.bindings)):
                derived[old] = address, line
    return derived


def _implied(kinds: Kinds, desired: Desired, state: State, asked: Mapping[Address, Address]) -> dict[Address, Address]:
    """The renames implied by a container that leaves its root: its contents are declared in the new root under the same keys."""
    leaving = {
        old: new
        for old, new in asked.items()
        if old.root != new.root and old in state.bindings and state.fulfilled.get(old) != new and old.container is not None
    }
    if not leaving:
        return {}
    implied: dict[Address, Address] = {}
    for address in state.bindings:
        kind = kinds.get(state.bindings[address].kind)
        if kind is None or kind.transferable is None or address in asked or address in desired.resources:
            continue
        outer = next((above for above in containing(state.bindings, address) if above in leaving), None)
        inside = address.renamed(address.root, leaving[outer].root) if outer is not None and address.container is not None else None
        # Another object has the address, and no line renames it.
        kept = inside in state.bindings and inside not in asked
        if inside is not None and inside in desired.resources and not kept:
            implied[address] = inside
    return implied


def _concerned(former: Collection[Address], state: State) -> bool:
    """Whether any tracked object, or anything that contains one, may have one of these former addresses."""
    if not former:
        return False
    # Compared by kind and key alone: below which container a line means them is known only once those have their names.
    tails = {old.parts[-2:] for old in former}
    tracked = (*state.bindings, *(intent.address for intent in state.intents))
    return any(address.parts[max(end - 2, 0) : end] in tails for address in tracked for end in range(len(address.parts), 0, -2))


def containing(bindings: Mapping[Address, Binding], address: Address) -> list[Address]:
    """The addresses that contain a tracked object: the node where it was last placed, and its containers."""
    above: list[Address] = []
    at: Address | None = address
    while at is not None and at not in above:
        binding = bindings.get(at)
        above.append(at)
        at = binding.place.parent if binding is not None and binding.place is not None else None
    return [*above[1:], *address.containers]


def address_after_moves(address: Address, moves: Mapping[Address, Address]) -> Address:
    """The address below the new name of the nearest renamed container."""
    for container in address.containers:
        if container in moves:
            return address.renamed(container, moves[container])
    return address


def current_addresses(removed: Mapping[Address, Removed], former: Former) -> dict[Address, Removed]:
    """`removed` under today's addresses: an entry may lie in a container that was renamed."""
    result: dict[Address, Removed] = {}
    for address, removal in removed.items():
        today = address
        if address not in former.state.bindings:
            above = next((container for container in address.containers if container in former.renames), None)
            below = address if above is None else address.renamed(above, former.renames[above])
            today = below if below in former.state.bindings else address
        result[today] = replace(removal, address=today)
    return result


class _Following:
    """One pass over the tracked addresses, containers first."""

    def __init__(
        self,
        kinds: Kinds,
        desired: Desired,
        implied: Mapping[Address, Address],
        causes: Mapping[Address, Address],
        state: State,
        impossible: Mapping[Address, Blocked],
    ) -> None:
        self.kinds, self.desired, self.state, self.impossible = kinds, desired, state, impossible
        self.asked, self.implied = {**implied, **renames(desired)}, implied
        # The line that implies a rename, where that is the rename of another resource in its own container.
        self.causes = causes
        self.tracked = {*state.bindings, *(intent.address for intent in state.intents)}
        # Addresses that a request without an outcome concerns, and their containers: nobody knows which object has them.
        doubtful = {address for intent in state.intents for address in (intent.address, *intent.before.takes)}
        self.doubtful = {above for address in doubtful for above in (address, *address.containers)}
        # The new name of each address whose depth is settled.
        self.final: dict[Address, Address] = {}
        # All names by which a line may call each of them.
        self.aliases: dict[Address, tuple[Address, ...]] = {}
        self.followed: dict[Address, Address] = {}
        self.refused: dict[Address, Blocked] = {}
        self.refused_lines: set[Address] = set()

    def whole(self) -> Former:
        levels: dict[int, set[Address]] = defaultdict(set)
        for address in self.tracked:
            for above in (address, *address.containers):
                levels[len(above.parts)].add(above)
        fulfilled: dict[int, dict[Address, Address]] = defaultdict(dict)
        for old, new in self.state.fulfilled.items():
            fulfilled[len(old.parts)][old] = new
        carried_out: dict[Address, Address] = {}
        for depth in sorted({*levels, *fulfilled}):
            # A fulfilled line is remembered under the names of its containers at that time, which may have changed since.
            done = {address_after_moves(old, self.final): address_after_moves(new, self.final) for old, new in fulfilled[depth].items()}
            carried_out |= done
            self._name_depth(sorted(levels[depth]), done)
        moves = {address: self.final[address] for address in self.state.bindings if self.final[address] != address}
        kept = {old: new for old, new in self.asked.items() if old not in self.refused_lines and old not in self.implied}
        carried_out |= {line: self.asked[line] for line in self.followed.values()}
        return Former(self.state, self._renamed(moves, carried_out), kept, moves, self.followed, self.refused)

    def _name_depth(self, nodes: list[Address], done: Mapping[Address, Address]) -> None:
        """Name the addresses of one depth; the names of all containers are known."""
        plain: dict[Address, Address] = {}
        lines: dict[Address, Address] = {}
        for address in nodes:
            container = address.container
            plain[address] = address if container is None else address.renamed(container, self.final[container])
            spellings = [address.renamed(container, alias) for alias in self.aliases[container]] if container is not None else []
            self.aliases[address] = tuple(dict.fromkeys((plain[address], address, *spellings)))
            line = next((alias for alias in self.aliases[address] if self._leads(alias, plain[address], done)), None)
            if line is not None:
                lines[address] = line
        self._settle(nodes, plain, lines)
        used = {*lines.values()}
        for address in nodes:
            line = lines.get(address)
            self.final[address] = plain[address] if line is None else self.asked[line]
            self.aliases[address] = tuple(dict.fromkeys((self.final[address], *self.aliases[address])))
            if address not in self.tracked:
                continue
            if line is not None:
                self.followed[address] = line
                continue
            # A line that names this address, and that neither renames it nor another object nor had its effect before: it leads out of the
            # container. To ignore it would delete the object and create another one without a word.
            unused = self.asked.get(address) if address not in self.causes else None
            has_effect = address in used or address in self.refused_lines or done.get(address) == unused
            if unused is not None and not has_effect and plain[address] == address:
                stuck = Blocked(
                    address,
                    f"{address} cannot become {unused}: its object is in {address.container} and cannot leave it",
                    f"remove the line: {address} is then deleted, and {unused} created",
                    id="RC-rename-out-of-container",
                )
                self._refuse(address, address, unused, stuck)

    def _leads(self, alias: Address, plain: Address, done: Mapping[Address, Address]) -> bool:
        """Whether a line of the YAML renames what is called `alias`, within its container, and was not carried out yet."""
        new = self.asked.get(alias)
        if new is None or new in (plain, done.get(alias)) or self.causes.get(alias) in self.refused_lines:
            return False
        # Out of its container, an object gets another address only by a transfer.
        kind = self.kinds.get(plain.kind or "")
        transferable = kind is not None and kind.transferable is not None and plain.kind == new.kind and new.root in self.desired.resources
        return new.container == plain.container or transferable

    def _settle(self, nodes: list[Address], plain: Mapping[Address, Address], lines: dict[Address, Address]) -> None:
        """Undo every rename to an address that another object keeps or gets too; `lines` keeps those that can happen."""
        claims: dict[Address, list[Address]] = defaultdict(list)
        for address in nodes:
            if address in self.tracked:
                claims[self.asked[lines[address]] if address in lines else plain[address]].append(address)
        # Addresses that more than one object may claim.
        crowded = list(claims)

        def keep_address(address: Address, stuck: Blocked) -> None:
            line = lines.pop(address)
            new = self.asked[line]
            claims[new].remove(address)
            claims[plain[address]].append(address)
            crowded.append(plain[address])
            self._refuse(line, plain[address], new, stuck)

        for address in nodes:
            if address in lines and address in self.tracked:
                if address in self.impossible:
                    keep_address(address, self.impossible[address])
                elif address in self.doubtful:
                    keep_address(address, _in_doubt(address))
        while crowded:
            new = crowded.pop()
            claimants = claims[new]
            if len(claimants) < 2:
                continue
            # The one without a line keeps its address; where all have one, nobody knows which line is meant.
            movers = [address for address in claimants if address in lines]
            holder = next((address for address in claimants if address not in lines), None)
            for address in movers:
                keep_address(address, self._address_conflict(plain[address], new, holder, [plain[mover] for mover in movers]))

    def _address_conflict(self, old: Address, new: Address, holder: Address | None, movers: list[Address]) -> Blocked:
        """Why an object cannot get an address: another object keeps it, or several would get it."""
        if holder is None:
            names = " and ".join(str(mover) for mover in sorted(movers))
            return Blocked(
                new,
                f"{names} are all tracked, and only one of them can become {new}",
                "name only that one as its former address",
                id="RC-rename-target-taken",
            )
        if holder not in self.state.bindings:
            return _in_doubt(new)
        return Blocked(
            new,
            f"{old} cannot become {new}: both are tracked, and {new} has an object of its own, which keeps the address",
            f"if {old} may be deleted, remove it from previously or moved; to keep its object as {new}, first apply without {new}; "
            f"to swap the two, write previously on both",
            id="RC-rename-target-taken",
        )

    def _refuse(self, line: Address, old: Address, new: Address, stuck: Blocked) -> None:
        self.refused_lines.add(line)
        source = self._source(line, new)
        # One cause, not two: both are unblocked together.
        for address, cause in ((new, None), (old, new)):
            self.refused.setdefault(address, replace(stuck, address=address, source=source, cause=cause))

    def _source(self, line: Address, new: Address) -> Source | None:
        move = next((move for move in self.desired.moved if move.old == line), None)
        declared = self.desired.resources.get(new)
        return move.source if move is not None else declared.source if declared is not None else None

    def _renamed(self, moves: Mapping[Address, Address], fulfilled: Mapping[Address, Address]) -> State:
        state = self.state

        def called(address: Address) -> Address:
            return self.final[address] if address in self.final else address_after_moves(address, self.final)

        def tracked(binding: Binding) -> Binding:
            place = binding.place
            if place is not None and place.parent is not None:
                place = replace(place, parent=moves.get(place.parent, place.parent))
            return replace(binding, address=called(binding.address), place=place)

        bindings = sorted((tracked(binding) for binding in state.bindings.values()), key=lambda binding: binding.address)
        return replace(
            state,
            bindings={binding.address: binding for binding in bindings},
            intents=tuple(replace(intent, address=called(intent.address)) for intent in state.intents),
            held=frozenset((kind, called(container) if container is not None else None) for kind, container in state.held),
            marks={mark: called(address) for mark, address in state.marks.items()},
            deleted={called(address): gone for address, gone in state.deleted.items()},
            recent={called(address): until for address, until in state.recent.items()},
            renamed={**state.renamed, **{new: state.renamed.get(old, old) for old, new in moves.items()}},
            fulfilled=dict(fulfilled),
            rules=_rules(state.rules, {str(old): str(new) for old, new in moves.items()}),
        )


def _rules(rules: Rules | None, names: Mapping[str, str]) -> Rules | None:
    """The rules, in which readers and patterns that are plain addresses have today's names."""
    if rules is None or not rules.access or not names:
        return rules
    return replace(rules, access=frozenset(" ".join(names.get(part, part) for part in text.split(" ")) for text in rules.access))


def _in_doubt(address: Address) -> Blocked:
    return Blocked(
        address,
        f"a request of an earlier run for {address} is in doubt",
        "reconciler apply finds out what happened to it",
        id="RC-in-doubt",
    )
