"""What a fleet on one machine needs besides a worker: a PostgreSQL server of its own, with a password."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reconciler.errors import ReconcilerError
from reconciler.fleet.up.server import start
from reconciler.writing import write_whole

URL_FILE: Final = "url"


@contextmanager
def postgres(data: Path, url: str | None) -> Iterator[str]:
    """The URL of the database: as given, or of a server that is started, and stopped after the block. Its URL is stored in `data/url`."""
    if url is not None:
        yield url
        return
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with warnings.catch_warnings(action="ignore"):  # of packages, about this machine
            server, address = start(data)
    except (OSError, RuntimeError, ValueError) as error:
        wrong = f"PostgreSQL cannot be started in {data / 'postgres'}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        raise ReconcilerError(wrong, id="RC-no-fleet-database", hint="Pass --database URL to use a server of yours.") from error
    place = data / URL_FILE
    try:
        write_whole(place, address + "\n")
        yield address
    finally:
        with suppress(OSError):
            place.unlink()
        server.cleanup()
