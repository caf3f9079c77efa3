"""A connection to an SQLite file that anybody may have written, such as one in a checkout: reading it ends.

In: a file. Out: a connection that trusts nothing in its schema, and that stops a transaction which takes more steps than what the file
contains explains. `SqliteConnection.others` refuses what is not a table of ours. Forbidden: what the tables mean.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from reconciler.links import open_regular

LOOK: Final = 100_000  # instructions of SQLite's virtual machine between two looks at their number
# Instructions of a transaction that reads, whatever the file contains, and more for each byte of it: a reading of all of it takes less than
# one for each byte. Not many more, because rows that are read again and again fill the memory.
STEPS_FREE: Final = 5_000_000
STEPS_PER_BYTE: Final = 20
STEPS_WRITING: Final = 10_000_000_000  # of a transaction that writes, which may write much into a small file
TEXT_MAX: Final = 512 * 2**20  # bytes of one value
JOURNAL: Final = "-journal"
BESIDE: Final = (JOURNAL, "-wal", "-shm")
"""The ends of the names of files that SQLite opens beside a file; it waits for the writer of a pipe."""
_JOURNAL_END: Final = bytes.fromhex("d9d505f920a163d7")


class HostileFile(sqlite3.Connection):
    """A connection whose statements are interrupted after too many steps. Use `distrusted` to open one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._steps = 0
        self._most: Callable[[], int] = _free

    def allow(self, most: Callable[[], int]) -> None:
        """Count from here on, and interrupt what takes more than `most` steps, which is asked from time to time."""
        self._steps, self._most = 0, most

    def look(self) -> bool:
        """Count the steps since the last look; whether there are too many."""
        self._steps += LOOK
        return self._steps > self._most()


def _free() -> int:
    return STEPS_FREE


def distrusted(path: str, **options: Any) -> HostileFile:
    """Open a file that is believed to be nothing but tables: no code of its schema is run with the rights of this program."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=HostileFile, **options)
    try:
        connection.set_progress_handler(connection.look, LOOK)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, TEXT_MAX)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    except BaseException:
        connection.close()
        raise
    return connection


def names_another(journal: Path) -> bool:
    """Whether the last bytes of a journal lead to another one, for a transaction over several files: SQLite deletes that file, whatever it
    is, after it has undone the transaction. No state is ever written in such a transaction. Raises OSError."""
    with open_regular(journal, follow=False) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - len(_JOURNAL_END)))
        return file.read() == _JOURNAL_END
