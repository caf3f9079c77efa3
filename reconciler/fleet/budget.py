"""What is left of a token's rate limits, shared by all runs that use it. Pure; times are seconds of one clock, the database's.

A sender takes a request first, and reports the service's answer afterwards. There are never more requests in flight than the service
reported as left: for an unknown limit (before the first answer, and after each reset), one request at a time is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

POLL: Final = 0.05  # seconds to wait for an answer in flight
RESET_MAX: Final = 3_600.0  # seconds; a reset that is further away is checked again earlier
WAY_MAX: Final = 300.0  # seconds after which a request without a report is forgotten


@dataclass(frozen=True)
class Limit:
    """One limit of the service. `left`: at most so many more may be taken before `resets_at`; None: unknown, one may be sent."""

    left: int | None = None
    resets_at: float = 0.0


@dataclass(frozen=True)
class TokenBudget:
    """The limits of a token, by their size; `methods`: the limit that a method counts for; `way`: the requests in flight: the time and the
    method of each, by its ticket."""

    limits: Mapping[int, Limit] = field(default_factory=dict)
    methods: Mapping[str, int] = field(default_factory=dict)
    way: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    unlimited: frozenset[str] = frozenset()


@dataclass(frozen=True)
class BudgetReport:
    """The limits in an answer. `size`: of the limit that counted it, None if none was named; `left` of it for `reset` seconds."""

    size: int | None = None
    left: int = 0
    reset: float = 0.0
    refused: bool = False


def take(budget: TokenBudget, method: str, ticket: str, now: float) -> tuple[TokenBudget, float]:
    """The budget after a request is taken, and 0; or the unchanged budget, and the seconds to wait."""
    budget = _expired(budget, now)
    size = budget.methods.get(method)
    if size is None and method in budget.unlimited:
        return _sent(budget, ticket, method, now), 0.0
    if size is None:
        return (budget, POLL) if budget.way else (_sent(budget, ticket, method, now), 0.0)
    limit = budget.limits.get(size, Limit())
    if limit.left is None:
        return (budget, POLL) if _under_way(budget, size) else (_sent(budget, ticket, method, now), 0.0)
    if limit.left < 1:
        return budget, max(POLL, limit.resets_at - now)
    limits = {**budget.limits, size: replace(limit, left=limit.left - 1)}
    return _sent(replace(budget, limits=limits), ticket, method, now), 0.0


def report(budget: TokenBudget, ticket: str, answer: BudgetReport | None, now: float) -> TokenBudget:
    """The budget after an answer; None if none came, or one without limits."""
    if ticket not in budget.way:  # given up already
        return budget
    method = budget.way[ticket][1]
    budget = replace(budget, way={key: value for key, value in budget.way.items() if key != ticket})
    if answer is None:
        return budget
    if answer.size is None:
        return budget if method in budget.methods or answer.refused else replace(budget, unlimited=budget.unlimited | {method})
    methods = {**budget.methods, method: answer.size}
    budget = replace(budget, methods=methods, unlimited=budget.unlimited - {method})
    limit, resets_at = budget.limits.get(answer.size, Limit()), now + min(answer.reset, RESET_MAX)
    others = _under_way(budget, answer.size)
    if limit.left is None or now >= limit.resets_at:
        # An answer that was written before the others arrived does not count them yet. Too careful by a few requests is better
        # than a 429, which some services punish.
        left = answer.left - others  # the service may not have counted them yet
    # The header has whole seconds, so two answers of one window may differ by one.
    elif resets_at > limit.resets_at + 1.5 and answer.left > limit.left + others:  # the next window began
        left = answer.left - others
    else:
        left, resets_at = min(limit.left, answer.left), max(limit.resets_at, min(resets_at, limit.resets_at + 1.5))
    # A 429 means that nothing is left, whatever its headers say.
    if answer.refused:
        left = 0
    return replace(budget, limits={**budget.limits, answer.size: Limit(max(0, left), resets_at)})


def held_until(budget: TokenBudget, now: float) -> float | None:
    """Until when nothing can be read with this token; None if a request can be sent."""
    size = budget.methods.get("GET")
    limit = budget.limits.get(size) if size is not None else None
    return limit.resets_at if limit is not None and limit.left == 0 and limit.resets_at > now else None


def _expired(budget: TokenBudget, now: float) -> TokenBudget:
    """Without requests whose report is overdue, and with expired limits unknown again. Times too far ahead were written before the clock
    was set back."""
    # A worker that died never reports its requests.
    way = {ticket: (at, method) for ticket, (at, method) in budget.way.items() if abs(now - at) < WAY_MAX}
    limits = {
        size: limit if limit.left is None or now < limit.resets_at <= now + RESET_MAX + WAY_MAX else Limit()
        for size, limit in budget.limits.items()
    }
    return replace(budget, way=way, limits=limits)


def _sent(budget: TokenBudget, ticket: str, method: str, now: float) -> TokenBudget:
    return replace(budget, way={**budget.way, ticket: (now, method)})


def _under_way(budget: TokenBudget, size: int) -> int:
    """Requests in flight that count for a limit, or may."""
    return sum(budget.methods.get(method, size) == size and method not in budget.unlimited for _, method in budget.way.values())


def as_data(budget: TokenBudget) -> dict[str, Any]:
    return {
        "limits": {str(size): [limit.left, limit.resets_at] for size, limit in budget.limits.items()},
        "methods": dict(budget.methods),
        "way": {ticket: list(sent) for ticket, sent in budget.way.items()},
        "unlimited": sorted(budget.unlimited),
    }


def of_data(data: Mapping[str, Any]) -> TokenBudget:
    return TokenBudget(
        {int(size): Limit(left, resets_at) for size, (left, resets_at) in data["limits"].items()},
        data["methods"],
        {ticket: (at, method) for ticket, (at, method) in data["way"].items()},
        frozenset(data["unlimited"]),
    )
