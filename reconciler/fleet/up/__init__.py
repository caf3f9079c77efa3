"""What a fleet on one machine needs besides a worker: a PostgreSQL server of its own, with a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from reconciler.errors import ReconcilerError
from reconciler.fleet.up.server import KEPT, start
from reconciler.own_files import OwnFolder
from reconciler.writing import write_whole

URL_FILE: Final = "url"


@contextmanager
def postgres(data: Path, url: str | None) -> Iterator[str]:
    """The URL of the database: as given, or of a server that is started, and stopped after the block unless somebody else uses it. People
    find its URL in `data/url`. Raises `ReconcilerError`."""
    if url is not None:
        yield url
        return
    own = OwnFolder.create(data)
    try:
        server, address = start(own)
    except (OSError, RuntimeError, ValueError) as error:
        wrong = f"PostgreSQL cannot be started in {data / 'postgres'}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        raise ReconcilerError(wrong, id="RC-no-fleet-database", hint="Pass --database URL to use a server of yours.") from error
    place = data / URL_FILE
    try:
        write_whole(place, address + "\n")
        yield address
    finally:
        if server.stop():
            with suppress(OSError):
                place.unlink()


def started_url(own: OwnFolder) -> str | None:
    """The URL of the server that `fleet up` started in a folder; None if it runs none. What is signed is believed, and not `data/url`."""
    kept = own.read(KEPT)
    return str(kept["url"]) if kept is not None and "url" in kept and (own.path / URL_FILE).exists() else None
