"""How many tracked objects may be missing at once before the reading itself is in doubt. Pure.

In: State and the matches of a reading that looked for every missing object twice. Out: what is missing, or a refusal.
"""

from __future__ import annotations

from typing import Final

from reconciler.address import Address
from reconciler.errors import Refused
from reconciler.model import Binding, Desired
from reconciler.plan.matching.matches import Matches

AT_LEAST: Final = 3  # objects that may always be missing
SHARE: Final = 0.1  # of the tracked objects, that may be missing at once


def missing(matches: Matches) -> dict[Address, Binding]:
    """The bindings of tracked objects that no longer exist, without those that were deleted with their containers."""
    gone = sorted(matches.where(lambda match: match.gone))
    absent = {at: matches.binding(at) for at in gone if at.container is None or not matches[at.container].gone}
    return {address: binding for address, binding in absent.items() if binding is not None}


def believable(matches: Matches, desired: Desired, *, accept: int | None) -> None:
    """Raise `Refused` where so many objects are missing at once that an outage or a change of permissions is likelier.

    `accept`: how many may be missing; None: the limit. Not counted: undeclared objects after an interrupted run, which may have deleted
    them, and the objects of a delete without an outcome.
    """
    state = matches.former.state
    # Where another object was created in its place, or it was moved, the reading showed that: no outage looks like it.
    seen = {*matches.where(lambda match: match.recreated is not None or match.transferred is not None)}
    seen |= {at for intent in state.intents if intent.verb == "delete" for at in (intent.address, *intent.before.takes)}  # announced
    gone = [address for address in missing(matches) if address not in seen and (address in desired.resources or not state.unfinished)]
    limit = max(AT_LEAST, int(SHARE * len(state.bindings)))
    left = any(address.container is not None and not matches[address].gone for address in state.bindings)
    if len(gone) <= (accept if accept is not None else limit if left else 1):
        return
    names = ", ".join(str(address) for address in gone[:5]) + (f" and {len(gone) - 5} more" if len(gone) > 5 else "")
    many = f"{len(gone)} of {len(state.bindings)} tracked objects no longer exist"
    over = (
        f"{accept} were accepted" if accept is not None else f"at most {limit} are accepted" if left else "no other tracked object answers"
    )
    wrong = f"{many}, and {over}; this looks like an outage or a change of the token's permissions: {names}"
    raise Refused(wrong, id="RC-many-missing", hint=f"if they were deleted: --accept-gone {len(gone)}")
