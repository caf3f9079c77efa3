"""What the store needs of a database, and opening the one that a URL names.

In: a URL, or objects in memory. Out: a `Database`, which reads and writes in transactions that are durable when they end. Forbidden:
what the tables mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol, TypeVar

from reconciler.errors import StateError
from reconciler.state.bucket.database import Bucket, open_bucket
from reconciler.state.bucket.objects import Objects
from reconciler.state.connection import Connection
from reconciler.state.postgres import open_server
from reconciler.state.sqlite import open_file
from reconciler.text.backends import BUCKET, POSTGRES, SQLITE, Backend, backend_of, forms

T = TypeVar("T")


class Database(Protocol):
    """A database with the tables of states. Every method may be called by any thread, several at the same time.

    Opening one with `create` creates or migrates its tables in one transaction: two programs that open it at once end up with the same
    tables. Opened without, nothing is ever written: no file, no table, no row.

    A failure is a `StateError` that names the database and says what to do; drivers' own errors never get out. What the caller's own code
    raises inside a block passes through unchanged.
    """

    # Names the database in messages, without a password.
    where: str
    # The file, where it is one: then the lock beside it is the lease. None: the lease is a row that expires.
    path: Path | None

    def read(self, work: Callable[[Connection], T]) -> T | None:
        """The result of `work` on one consistent view; None where there is no state yet.

        Tables of an older version are read as if they had been migrated, without being changed. `work` writes nothing, and may be called
        more than once: where the view turns out to be torn, it gets another. It never waits for a run that writes. After a failure it can
        be called again.
        """

    def is_current(self) -> bool | None:
        """Whether the tables are today's; False: older, None: there are none. Fails for newer tables and for those of other programs."""

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction that is durable when the block has ended, and void where it raises.

        Durable: it survives a kill of this program, and a power cut of the machine that stores it. Void: nobody ever sees any of it. One
        failure is neither: a server or bucket that was lost during the commit may have made it. The caller then knows nothing, and finds
        out by reading; the journal is made for that. One transaction writes at a time; another waits for it, and fails after a few seconds.
        In a bucket `Contended` says that another run committed first, and the block can be repeated on what that left.
        """

    def close(self) -> None:
        """Close every connection. In a bucket this may write a snapshot, which changes nothing that is read."""


_OPENING: Final[Mapping[Backend, Callable[[str, bool], Database]]] = {SQLITE: open_file, POSTGRES: open_server, BUCKET: open_bucket}


def connect(url: str | Objects, *, create: bool) -> Database:
    """The database at `url`, or of these objects; with `create` it is created, or migrated to today's schema, at once."""
    if not isinstance(url, str):
        return Bucket(url, "the state in memory", create=create)
    backend = backend_of(url)
    if backend is not None:
        return _OPENING[backend](url, create)
    scheme, slashes, _ = url.partition("://")
    hint = f"Write {forms()}."
    if not slashes or not scheme.replace("+", "").isidentifier():
        raise StateError("the state is not a valid URL", id="RC-state-url", hint=hint)
    raise StateError(f"a state cannot be stored in {scheme!r}", id="RC-state-url", hint=hint)
