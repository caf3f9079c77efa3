"""Objects that cannot be the declared resource: their natural key differs and no request can change it. Pure.

In: what is declared and what was seen. Out: the state under today's names, without the renames that would give an address to an object that
is not the one it names.
"""

from __future__ import annotations

from reconciler.address import Address, bare
from reconciler.model import Actual, Blocked, Desired, State
from reconciler.model.codec import wanted
from reconciler.plan.matching.differences import Correction, FieldDifference, correction_of, differences
from reconciler.plan.matching.match import match
from reconciler.plan.matching.matches import Matches
from reconciler.plan.matching.natural_keys import by_reference
from reconciler.plan.matching.renames import follow
from reconciler.resource import Kind, Kinds
from reconciler.text.names import a


def identify(kinds: Kinds, desired: Desired, state: State, actual: Actual) -> Matches:
    """The matches, once the renames that natural keys do not allow are refused."""
    impossible: dict[Address, Blocked] = {}
    order = tuple(by_reference(kinds, desired))
    while True:
        former = follow(kinds, desired, state, impossible=impossible)
        matches = match(kinds, desired, former.state, actual, former=former, order=order)
        wrong = _wrong(kinds, desired, matches, actual)
        if not wrong:
            return matches
        impossible |= wrong


def _wrong(kinds: Kinds, desired: Desired, matches: Matches, actual: Actual) -> dict[Address, Blocked]:
    """Tracked addresses that a line renames although their objects can never have the new address."""
    wrong: dict[Address, Blocked] = {}
    for old in matches.former.followed:
        new = matches.former.moves.get(old)
        declared = desired.resources.get(new) if new is not None else None
        now = actual.find(declared.kind, matches.ids.get(declared.address, "")) if declared is not None else None
        if declared is None or now is None or declared.implied:
            continue
        kind = kinds[declared.kind]
        for difference in differences(kind, wanted(kind, declared, matches.ids), now, None, {}):
            if is_other(difference):
                reason = f"{old} cannot become {declared.address}: {_fixed(kind, difference, now.id)}"
                wrong[old] = Blocked(
                    old,
                    reason,
                    f"remove {old.key} from previously (or its line from moved): they are two {kind.name}s",
                    id="RC-rename-of-another-object",
                )
    return wrong


def is_other(difference: FieldDifference) -> bool:
    """Whether the object is another one: a part of its natural key that nothing can change differs."""
    return difference.field.key and correction_of(difference) is Correction.REFUSE


def other(kind: Kind, difference: FieldDifference, id: str, by_id: bool, address: Address) -> tuple[str, str]:
    """Why an object cannot be the one that is declared, and what to do."""
    reason = f"is another {kind.name}: {_fixed(kind, difference, id)}"
    if by_id:
        return reason, f"correct the id, or remove it to match the {kind.name} by its {difference.field.name}"
    now = difference.field.shown(difference.before)
    keyed = kind.place.key_is == difference.field.name
    way = f"write {now} as its key, with previously: [{address.key}]" if keyed else f"write {difference.field.name}: {now}"
    return reason, f"if it is the same {kind.name}, {way}; if not, stop managing it: reconciler state forget {address:sh}"


def _fixed(kind: Kind, difference: FieldDifference, id: str) -> str:
    field = difference.field
    return f"the {field.name} of {bare(id)} is {field.shown(difference.before)}, and the {field.name} of {a(kind.name)} cannot be changed"
