"""Reading a state that is a file without SQLAlchemy, which takes longer to import than such a reading takes.

In: a path. Out: rows, or None wherever anything is out of the ordinary: no file, other tables, a file that changes meanwhile. The caller
then asks the store, which knows what to say. Forbidden: writing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

_KEY: Final = "SELECT digest_key FROM states ORDER BY id LIMIT 1"


def digest_key(path: Path) -> bytes | None:
    """The key of the oldest state in the file."""
    rows = _rows(path, _KEY, {})
    key = rows[0][0] if rows else None
    return key if isinstance(key, bytes) and key else None


def _rows(path: Path, statement: str, words: Mapping[str, Any]) -> list[tuple[Any, ...]] | None:
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    try:
        if not path.is_file():
            return None
        with closing(sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=1.0, isolation_level=None)) as connection:
            return connection.execute(statement, words).fetchall()
    except (sqlite3.Error, OSError, ValueError):
        return None
