"""A resource for which an access test is not met, and the violation that people read of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reconciler.address import Address
from reconciler.model import AccessTest, Demand, Desired, Severity, Violation
from reconciler.plan.access.verdicts import Look, ReaderVerdict, Sees
from reconciler.plan.audience.disclosure import ReaderWindow
from reconciler.plan.containment import Key
from reconciler.plan.warnings.exposure import path_text

SORT: Final = "access"
NAMED: Final = 3  # addresses in a sentence
CLOSE: Final = "remove what lets them read it, or the pattern from mustNotSee, which requires consent"
LATER: Final = "apply first a project in which nobody can read it, or remove the pattern from mustNotSee, which requires consent"
OPEN: Final = "let them read it, or remove the pattern from sees, which requires consent"


class When(Enum):
    """When a demand is not met."""

    NEW = "after this plan"
    LEFT = "already today, and after this plan"
    WINDOW = "for a while"
    MENDED = "violated already"
    TODAY = "today"


@dataclass(frozen=True)
class Miss:
    """One resource for which a demand is not met. `look`: the world in which it is not met; `verdict`: the verdict there; `key`: its object
    there. `window`: set where the reader sees it only for a while."""

    test: AccessTest
    demand: Demand
    address: Address
    when: When
    verdict: ReaderVerdict
    look: Look
    key: Key | None
    window: ReaderWindow | None = None


def violation(miss: Miss, desired: Desired, called: Callable[[Key], Address], level: Severity) -> Violation:
    """The violation of a miss. `called`: the address of an object, managed or not."""
    declared = desired.resources.get(miss.address)
    access = miss.verdict.access
    path = miss.look.audiences.path(miss.key, access) if miss.key is not None and access is not None and not miss.demand.sees else ()
    path = miss.window.path if miss.window is not None else path
    return Violation(
        SORT,
        str(miss.demand.reader),
        miss.address,
        _message(miss, _closed(miss, called) or _open(miss, path)),
        id="RC-access-violated",
        level=level,
        path=path_text(called, path),
        source=miss.demand.pattern.source,
        declared=declared.source if declared is not None else None,
        remedy=OPEN if miss.demand.sees else CLOSE if miss.window is None else LATER,
    )


def _open(miss: Miss, path: Sequence[Key]) -> str:
    """`: its defaultLevel is read`, where the object's own fields admit a reader who must not see it."""
    access = miss.verdict.access
    observed = miss.look.audiences.find(path[0]) if len(path) == 1 else None
    audience = miss.look.audiences.kinds[path[0][0]].audience if observed is not None else None
    if observed is None or audience is None or access is None:
        return ""
    admitting = audience.admitting(observed.values, access.who)
    fields = [f"its {field} is {str(value).lower() if (value := observed.values[field]) is True else value}" for field in admitting]
    return f": {' and '.join(fields)}" if fields else ""


def _closed(miss: Miss, called: Callable[[Key], Address]) -> str:
    """`: site docs is not published`, where that is why a reader does not see what they must see."""
    if not miss.demand.sees or miss.verdict.sees is not Sees.NO or miss.key is None:
        return ""
    reasons = miss.look.closed(miss.demand.reader, miss.key)
    texts = sorted(f"{path_text(called, [key])[0]} {reason}" for key, reason in reasons.items())
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return f": {', '.join(texts[:NAMED])}{more}" if texts else ""


def _message(miss: Miss, ways: str) -> str:
    """`anyone can read it after this plan (salaries are confidential)`. `ways`: what keeps out a reader who must see it, or admits one who
    must not."""
    who, when, reason = miss.demand.reader.says, miss.when.value, f" ({miss.test.reason})" if miss.test.reason else ""
    if miss.window is not None:
        requests = miss.window.requests
        what = f"{who} can read it for {requests} request{'s' if requests != 1 else ''} of this run"
    elif miss.verdict.sees is Sees.UNDECIDED:
        what = f"whether {who} can read it {when} cannot be decided: {miss.verdict.doubt}"
    elif miss.demand.sees and miss.when is When.TODAY:
        what = f"{who} cannot read it{ways}"
    elif miss.demand.sees:
        lost = ", but can today" if miss.when is When.NEW else ""
        what = f"{who} cannot read it after this plan{lost}{ways}"
    else:
        what = f"{who} can read it {when}{ways}"
    return what + reason
