"""The state under the addresses that the YAML uses today: `previously` and `moved` rename what is tracked. Pure.

In: Desired and State. Out: the same State under new addresses, and the renames that cannot happen. Renaming a container renames everything
tracked below it, declared or not. A rename is carried out once, however long its line remains.

A line may lead to another root, where the kind can be transferred; what is inside such a container gets the address of the same key there.
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
class Stuck:
    """Why a rename cannot happen, and how to proceed. `id`: of the cause."""

    reason: str
    remedy: str
    id: str


@dataclass(frozen=True)
class Former:
    """The addresses of a state after the renames of the YAML.

    `before`: the state as it was read. `state`: the same under today's addresses. `renames`: every rename of the YAML that is not refused,
    former address to today's. `moves`: tracked address to today's, where they differ. `followed`: the former address, as the YAML has it,
    of each tracked address that a line of the YAML renames. `refused`: both addresses of each rename that cannot happen. A rename to
    another root needs a request where the object is not in that root yet (`plan.transfers`).
    """

    before: State
    state: State
    renames: Mapping[Address, Address] = field(default_factory=dict)
    moves: Mapping[Address, Address] = field(default_factory=dict)
    followed: Mapping[Address, Address] = field(default_factory=dict)
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
        if not self.refused:
            return None
        if address in self.refused:
            return self.refused[address]
        above = next((parent for parent in parents if parent in self.refused), None)
        if above is None:
            return None
        return waiting(address, self.refused[above], self.refused[above].source)


def renames(desired: Desired) -> dict[Address, Address]:
    """Every rename that the YAML asks for: former address to today's."""
    asked = {move.old: move.new for move in desired.moved}
    asked |= {old: address for address, declared in desired.resources.items() for old in declared.previously}
    return {old: new for old, new in asked.items() if old != new}


def follow(kinds: Kinds, desired: Desired, state: State, *, impossible: Mapping[Address, Stuck] | None = None) -> Former:
    """Rename what is tracked as the YAML says. Following the result again changes nothing.

    `impossible`: tracked addresses that must keep their names, for a reason that only the objects show.
    """
    asked = renames(desired)
    if again := {move.old for move in desired.moved if move.again and state.renamed.get(move.new) != move.old}:
        state = replace(state, fulfilled={old: new for old, new in state.fulfilled.items() if old not in again})
    if not _concerned({old for old, new in asked.items() if state.fulfilled.get(old) != new}, state):
        return Former(state, state, asked)
    implied = _implied(kinds, desired, state, asked)
    return _Following(kinds, desired, asked, implied, state, impossible or {}).whole()


def _implied(kinds: Kinds, desired: Desired, state: State, asked: Mapping[Address, Address]) -> dict[Address, Address]:
    """The renames implied by a container that leaves its root: its contents are declared in the new root under the same keys."""
    leaving = {
        old: new
        for old, new in asked.items()
        if old.root != new.root and old in state.bindings and state.fulfilled.get(old) != new and not _rootless(old)
    }
    if not leaving:
        return {}
    implied: dict[Address, Address] = {}
    for address in state.bindings:
        kind = kinds.get(state.bindings[address].kind)
        if kind is None or kind.transferable is None or address in asked or address in desired.resources:
            continue
        outer = next((above for above in stands_in(state.bindings, address) if above in leaving), None)
        inside = address.renamed(address.root, leaving[outer].root) if outer is not None and not _rootless(address) else None
        kept = inside in state.bindings and inside not in asked  # another object has the address, and no line renames it
        if inside is not None and inside in desired.resources and not kept:
            implied[address] = inside
    return implied


def _rootless(address: Address) -> bool:
    return address.container is None


def _concerned(former: Collection[Address], state: State) -> bool:
    """Whether any tracked object, or anything that contains one, may have one of these former addresses."""
    if not former:
        return False
    tails = {old.parts[-2:] for old in former}
    tracked = (*state.bindings, *(intent.address for intent in state.intents))
    return any(address.parts[max(end - 2, 0) : end] in tails for address in tracked for end in range(len(address.parts), 0, -2))


def stands_in(bindings: Mapping[Address, Binding], address: Address) -> list[Address]:
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
        asked: Mapping[Address, Address],
        implied: Mapping[Address, Address],
        state: State,
        impossible: Mapping[Address, Stuck],
    ) -> None:
        self.kinds, self.desired, self.state, self.impossible = kinds, desired, state, impossible
        self.asked, self.implied = {**implied, **asked}, implied
        self.tracked = {*state.bindings, *(intent.address for intent in state.intents)}
        doubtful = {address for intent in state.intents for address in (intent.address, *intent.before.takes)}
        self.doubtful = {above for address in doubtful for above in (address, *address.containers)}
        self.final: dict[Address, Address] = {}
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
            done = {address_after_moves(old, self.final): address_after_moves(new, self.final) for old, new in fulfilled[depth].items()}
            carried_out |= done
            self._level(sorted(levels[depth]), done)
        moves = {address: self.final[address] for address in self.state.bindings if self.final[address] != address}
        kept = {old: new for old, new in self.asked.items() if old not in self.refused_lines and old not in self.implied}
        carried_out |= {line: self.asked[line] for line in self.followed.values()}
        return Former(self.state, self._renamed(moves, carried_out), kept, moves, self.followed, self.refused)

    def _level(self, nodes: list[Address], done: Mapping[Address, Address]) -> None:
        """Name the addresses of one depth; the names of all containers are known."""
        plain = {address: self._plain(address) for address in nodes}
        lines: dict[Address, Address] = {}
        for address in nodes:
            above = self.aliases[address.container] if address.container is not None else ()
            own = (plain[address], address, *(address.renamed(address.container, alias) for alias in above if address.container))
            self.aliases[address] = tuple(dict.fromkeys(own))
            line = next((alias for alias in self.aliases[address] if self._leads(alias, plain[address], done)), None)
            if line is not None:
                lines[address] = line
        self._settle(nodes, plain, lines)
        used = {*lines.values()}
        for address in nodes:
            line = lines.get(address)
            self.final[address] = plain[address] if line is None else self.asked[line]
            self.aliases[address] = tuple(dict.fromkeys((self.final[address], *self.aliases[address])))
            if line is not None and address in self.tracked:
                self.followed[address] = line
            stray = self.asked.get(address)
            astray = stray is not None and address not in used and address not in self.refused_lines and done.get(address) != stray
            if stray is not None and astray and address in self.tracked and plain[address] == address and line is None:
                self._refuse_stray(address, stray)

    def _plain(self, address: Address) -> Address:
        """The name below the new name of its container."""
        container = address.container
        return address if container is None else address.renamed(container, self.final[container])

    def _leads(self, alias: Address, plain: Address, done: Mapping[Address, Address]) -> bool:
        """Whether a line of the YAML renames what is called `alias`, within its container, and was not carried out yet."""
        new = self.asked.get(alias)
        if new is None or new in (plain, done.get(alias)):
            return False
        return new.container == plain.container or self._may_leave(plain, new)

    def _may_leave(self, old: Address, new: Address) -> bool:
        """Whether the object may get an address in another root: by a transfer."""
        kind = self.kinds.get(old.kind or "")
        return kind is not None and kind.transferable is not None and old.kind == new.kind and new.root in self.desired.resources

    def _settle(self, nodes: list[Address], plain: Mapping[Address, Address], lines: dict[Address, Address]) -> None:
        """Undo every rename to an address that another object keeps or gets too; `lines` keeps those that can happen."""
        claims: dict[Address, list[Address]] = defaultdict(list)
        for address in nodes:
            if address in self.tracked:
                claims[self.asked[lines[address]] if address in lines else plain[address]].append(address)
        crowded = list(claims)

        def keep_address(address: Address, stuck: Stuck) -> None:
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
            movers = [address for address in claimants if address in lines]
            holder = next((address for address in claimants if address not in lines), None)
            for address in movers:
                keep_address(address, self._address_conflict(plain[address], new, holder, [plain[mover] for mover in movers]))

    def _address_conflict(self, old: Address, new: Address, holder: Address | None, movers: list[Address]) -> Stuck:
        """Why an object cannot get an address: another object keeps it, or several would get it."""
        if holder is None:
            names = " and ".join(str(mover) for mover in sorted(movers))
            return Stuck(
                f"{names} are all tracked, and only one of them can become {new}",
                "name only that one as its former address",
                id="RC-rename-target-taken",
            )
        if holder not in self.state.bindings:
            return _in_doubt(new)
        return Stuck(
            f"{old} cannot become {new}: both are tracked, and {new} has an object of its own, which keeps the address",
            f"if {old} may be deleted, remove it from previously or moved; to keep its object as {new}, first apply without {new}; "
            f"to swap the two, write previously on both",
            id="RC-rename-target-taken",
        )

    def _refuse(self, line: Address, old: Address, new: Address, stuck: Stuck) -> None:
        self.refused_lines.add(line)
        source = self._source(line, new)
        for address, cause in ((new, None), (old, new)):  # one cause, not two: both are unblocked together
            self.refused.setdefault(address, Blocked(address, stuck.reason, stuck.remedy, source, cause, id=stuck.id))

    def _refuse_stray(self, old: Address, new: Address) -> None:
        """Refuse a line that leads out of the container, where the object cannot be moved."""
        stuck = Stuck(
            f"{old} cannot become {new}: its object is in {old.container} and cannot leave it",
            f"remove the line: {old} is then deleted, and {new} created",
            id="RC-rename-out-of-container",
        )
        self._refuse(old, old, new, stuck)

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
    return replace(rules, access=frozenset(" ".join(names.get(word, word) for word in text.split(" ")) for text in rules.access))


def _in_doubt(address: Address) -> Stuck:
    return Stuck(
        f"a request of an earlier run for {address} is in doubt", "reconciler apply finds out what happened to it", id="RC-in-doubt"
    )
