"""The chain: objects `journal/1`, `journal/2` and so on, each created once, and the snapshot that says where it can be read from.

In: changes. Out: an object that is durable and the only one with its number; or the one that has the number. Forbidden: lists, which may be
stale; deleting or replacing an object of the chain; what the changes mean.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import uuid4

from reconciler.errors import StateError
from reconciler.state.bucket.changes import Change
from reconciler.state.bucket.objects import Objects, Unreachable
from reconciler.state.tables.schema import TABLES
from reconciler.state.tables.values import RESTORE

FORMAT: Final = "reconciler.journal/1"
SNAPSHOT: Final = "snapshot.db.gz"
CLOCK: Final = "clock"
APPEND_SECONDS: Final = 20.0  # how long appending an object is retried; requests must end before the lease does
READ_SECONDS: Final = 15.0
PAUSES: Final = (0.1, 0.3, 1.0, 2.0)  # seconds before a request is repeated; the last is repeated
AHEAD: Final = 16  # objects that are read at the same time, at most
BYTES_MAX: Final = 1 << 30  # of an object, unpacked
REACH: Final = "Check the network, the endpoint and the region, then run again: nothing is sent that is not in the journal first."

T = TypeVar("T")


@dataclass(frozen=True)
class ChainObject:
    """An object of the chain. `version`: of the tables. `columns`: of the rows, by table."""

    number: int
    version: int
    columns: Mapping[str, Sequence[str]]
    changes: Sequence[Change]


class Chain:
    """The objects of one state. `where` names it in messages; `requests` counts what was sent."""

    def __init__(self, objects: Objects, where: str, *, pause: Callable[[float], None] = time.sleep) -> None:
        self._objects = objects
        self._where = where
        self._pause = pause
        self.requests = 0

    def snapshot(self) -> bytes | None:
        """The image of the last snapshot; None where there is no state."""
        content = self._read(lambda: self._objects.get(SNAPSHOT))
        if content is None:
            self._objects.check()
            return None
        return self._unpacked(content, SNAPSHOT)

    def begin(self, image: bytes) -> None:
        """Write the first snapshot, unless another run did."""
        self._read(lambda: self._objects.create(SNAPSHOT, _packed(image)))

    def compact(self, image: bytes) -> None:
        """Replace the snapshot. Raises `Unreachable`; nothing is lost then, because the chain has everything."""
        self.requests += 1
        self._objects.put(SNAPSHOT, _packed(image))

    def after(self, number: int) -> Iterator[ChainObject]:
        """The objects that follow a number, up to the first that does not exist."""
        width = 1
        while True:
            wanted = range(number + 1, number + 1 + width)
            if width == 1:
                contents = [self._get(wanted[0])]
            else:
                with ThreadPoolExecutor(width) as threads:
                    contents = list(threads.map(self._get, wanted))
            for number, content in zip(wanted, contents, strict=True):
                if content is None:
                    return
                yield self._link(number, content)
            width = min(2 * width, AHEAD)

    def append(self, number: int, version: int, changes: Sequence[Change]) -> ChainObject | None:
        """Create the object with that number: None where it is ours, and durable; else the object that has the number.

        After a lost response the object is read: it is ours where it has the content we sent, which nobody else can have sent.
        """
        content = _packed(_written(version, changes))
        name, until, attempt = _name(number), time.monotonic() + APPEND_SECONDS, 0
        while True:
            try:
                self.requests += 1
                if self._objects.create(name, content):
                    return None
                reason = "another object had its number, and was deleted"
            except Unreachable as error:
                reason = str(error)
            # Read, and not sent again: the attempt that was not answered may have created it, and another run may have been faster.
            stored = None
            with suppress(Unreachable):
                self.requests += 1
                stored = self._objects.get(name)
            if stored is not None:
                return None if stored == content else self._link(number, stored)
            if time.monotonic() > until:
                raise StateError(f"{self._where} could not be written: {reason}", id="RC-state-unreachable", hint=REACH)
            self._pause(PAUSES[min(attempt, len(PAUSES) - 1)])
            attempt += 1

    def time(self) -> float:
        """The time by the clock of the bucket: when it wrote an object that was just sent."""
        self._read(lambda: self._objects.put(CLOCK, b""))
        return self._read(lambda: self._objects.modified(CLOCK))

    def _get(self, number: int) -> bytes | None:
        return self._read(lambda: self._objects.get(_name(number)))

    def _read(self, request: Callable[[], T]) -> T:
        """The result of a request that may be repeated."""
        until, attempt = time.monotonic() + READ_SECONDS, 0
        while True:
            try:
                self.requests += 1
                return request()
            except Unreachable as error:
                if attempt >= len(PAUSES) or time.monotonic() > until:
                    raise StateError(f"{self._where} cannot be reached: {error}", id="RC-state-unreachable", hint=REACH) from error
            self._pause(PAUSES[attempt])
            attempt += 1

    def _link(self, number: int, content: bytes) -> ChainObject:
        name = _name(number)
        try:
            link = json.loads(self._unpacked(content, name))
            if link["format"] != FORMAT:
                raise self._damaged(name)
            changes = [(str(table), _read_row(old), _read_row(new)) for table, old, new in link["changes"]]
            return ChainObject(number, int(link["version"]), {str(table): list(names) for table, names in link["columns"].items()}, changes)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._damaged(name) from error

    def _unpacked(self, content: bytes, name: str) -> bytes:
        try:
            unpacking = zlib.decompressobj(wbits=31)
            unpacked = unpacking.decompress(content, BYTES_MAX)
        except zlib.error as error:
            raise self._damaged(name) from error
        if not unpacking.eof:
            raise self._damaged(name)
        return unpacked

    def _damaged(self, name: str) -> StateError:
        return StateError(f"{self._where} is damaged: {name} cannot be read", id="RC-state-damaged", hint=RESTORE)


def _name(number: int) -> str:
    return f"journal/{number}"


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, 3, mtime=0)


def _written(version: int, changes: Sequence[Change]) -> bytes:
    tables = {table: TABLES[table] for table, _, _ in changes}
    document = {"format": FORMAT, "nonce": str(uuid4()), "version": version, "columns": tables, "changes": changes}
    return json.dumps(document, default=_hexadecimal, separators=(",", ":"), ensure_ascii=False).encode()


def _hexadecimal(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(type(value).__name__)


def _read_row(row: Any) -> list[Any] | None:
    if row is None:
        return None
    return [bytes.fromhex(value["hex"]) if isinstance(value, dict) else value for value in row]
