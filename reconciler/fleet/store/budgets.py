"""A token's budget as one row, locked while a request is taken from it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from reconciler.fleet import budget as pure
from reconciler.fleet.budget import BudgetReport, TokenBudget
from reconciler.fleet.store.schema import budgets

_SECONDS = text("extract(epoch FROM clock_timestamp())::float8")


def _locked(connection: Connection, token: str) -> tuple[TokenBudget, float]:
    """The budget of a token, locked until the transaction ends, and the database's time."""
    row = connection.execute(select(budgets.c.left).where(budgets.c.token == token).with_for_update()).first()
    if row is None:
        empty = upsert(budgets).values(token=token, left=pure.as_data(TokenBudget()))
        connection.execute(empty.on_conflict_do_nothing())
        row = connection.execute(select(budgets.c.left).where(budgets.c.token == token).with_for_update()).one()
    # the clock is read after the lock: waiting for it may have taken longer than a limit lasts
    now = connection.execute(select(_SECONDS)).scalar_one()
    return pure.of_data(row.left), now


def _write(connection: Connection, token: str, budget: TokenBudget, now: float) -> None:
    held = pure.held_until(budget, now)
    until = func.to_timestamp(held) if held is not None else None
    connection.execute(
        update(budgets).where(budgets.c.token == token).values(left=pure.as_data(budget), held_until=until, updated_at=func.now())
    )


def take(connection: Connection, token: str, method: str, ticket: str) -> float:
    """Take a request; 0 if it may be sent, else the seconds to wait before the next attempt."""
    budget, now = _locked(connection, token)
    after, wait = pure.take(budget, method, ticket, now)
    if wait == 0.0:
        _write(connection, token, after, now)
    return wait


def report(connection: Connection, token: str, answers: dict[str, BudgetReport | None]) -> None:
    """Store the answers, by ticket."""
    budget, now = _locked(connection, token)
    for ticket, answer in answers.items():
        budget = pure.report(budget, ticket, answer, now)
    _write(connection, token, budget, now)


def forget(connection: Connection, lost: Sequence[int]) -> None:
    """Expect no more reports about requests of runs whose worker is dead."""
    if not lost:
        return
    for token in connection.execute(select(budgets.c.token).order_by(budgets.c.token)).scalars().all():
        budget, now = _locked(connection, token)
        gone = {ticket for ticket in budget.way if int(ticket.partition(".")[0]) in lost}
        if gone:
            for ticket in gone:
                budget = pure.report(budget, ticket, None, now)
            _write(connection, token, budget, now)
