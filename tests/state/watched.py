"""The seam of the state, watched: every statement and every commit of the program passes here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from reconciler.state.connection import Connection, PostgresConnection, SqliteConnection

Heard = Callable[..., object]


def _nothing(*_: Any) -> None:
    return


@contextmanager
def watched(
    statement: Heard = _nothing, *, commit: Heard = _nothing, committed: Heard = _nothing, ended: Heard = _nothing
) -> Iterator[None]:
    """What is called in this block, and may raise. `statement`: with the connection, the text and how many rows it is executed for.

    `commit`: before each commit, with the connection; `committed`: after it. `ended`: after each transaction, whether or not it was
    committed.
    """
    kinds = (SqliteConnection, PostgresConnection)
    executes, commits, transaction = [kind.execute for kind in kinds], Connection.commit, Connection.transaction

    def executing(execute: Any) -> Any:
        def executed(self: Connection, sql: str, values: Any) -> Any:
            statement(self, sql, 1 if isinstance(values, Mapping) else len(values))
            return execute(self, sql, values)

        return executed

    def committing(self: Connection) -> None:
        commit(self)
        commits(self)
        committed(self)

    @contextmanager
    def within(self: Connection, begin: str, *, keep: bool = True) -> Iterator[Connection]:
        with transaction(self, begin, keep=keep) as connection:
            yield connection
        ended(connection)

    for kind, execute in zip(kinds, executes, strict=True):
        kind.execute = executing(execute)  # type: ignore[method-assign]
    Connection.commit, Connection.transaction = committing, within  # type: ignore[method-assign]
    try:
        yield
    finally:
        for kind, execute in zip(kinds, executes, strict=True):
            kind.execute = execute  # type: ignore[method-assign]
        Connection.commit, Connection.transaction = commits, transaction  # type: ignore[method-assign]
