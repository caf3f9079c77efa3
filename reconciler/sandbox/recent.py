"""What was asked lately: writes are kept in the file, readings only while the service runs."""

from __future__ import annotations

from typing import Any, Final

from reconciler.sandbox.service import READINGS, Service

WRITES: Final = 500  # kept in the file
_KEYS: Final = ("at", "method", "path", "status")
_READING: Final = ("GET", "HEAD", "OPTIONS")


def note(service: Service, method: str, path: str, status: int) -> None:
    """Note one request that is being answered."""
    store = service.store
    request = {"at": store.stamp(), "method": method, "path": path[:400], "status": status}
    if method in _READING:
        service.readings.append(request)
        del service.readings[:-READINGS]
        return
    with store.write():
        store.connection.execute("insert into requests (at, method, path, status) values (:at, :method, :path, :status)", request)
        store.connection.execute("delete from requests where id <= (select max(id) from requests) - ?", (WRITES,))


def newest(service: Service, count: int) -> list[dict[str, Any]]:
    """The last requests, newest first."""
    rows = service.store.connection.execute("select at, method, path, status from requests order by id desc limit ?", (count,))
    writes = [dict(zip(_KEYS, row, strict=True)) for row in rows]
    return sorted([*writes, *service.readings[-count:][::-1]], key=lambda request: str(request["at"]), reverse=True)[:count]
