"""Writes whose answer was lost and that are done later; they wait in the sandbox's file."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Scope

from reconciler.sandbox.faults.answers import collect
from reconciler.sandbox.service import Fault, Service, who
from reconciler.sandbox.store import Store

KEY: Final = "late"


def keep(store: Store, scope: Scope, body: bytes, seconds: float) -> None:
    """Write down a request, to be done after so many seconds of the clock."""
    headers = Headers(scope=scope)
    request = {
        "due": store.now().timestamp() + seconds,
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode("latin-1"),
        "headers": {name: headers.get(name, "") for name in ("authorization", "content-type")},
        "body": body.decode("latin-1"),
    }
    with store.write():
        _write(store, [*waiting(store), request])


def waiting(store: Store) -> list[dict[str, Any]]:
    """The requests that are not done yet."""
    requests: list[dict[str, Any]] = json.loads(store.meta(KEY) or "[]")
    return requests


def _write(store: Store, requests: list[dict[str, Any]]) -> None:
    if requests:
        store.set_meta(KEY, json.dumps(requests))
    else:
        store.connection.execute("delete from meta where key = ?", (KEY,))


async def catch_up(app: ASGIApp, service: Service, scope: Scope) -> None:
    """Do what is due, in its order; nobody reads the answers."""
    store = service.store
    if store.meta(KEY) is None:
        return
    now = store.now().timestamp()
    with store.write():
        all = waiting(store)
        due = sorted((request for request in all if request["due"] <= now), key=lambda request: float(request["due"]))
        _write(store, [request for request in all if request["due"] > now])
    for request in due:
        headers = request["headers"]
        try:
            caller = who(service, headers["authorization"], request["method"])
        except Fault:
            # a token may be deleted between a request and its late effect; nobody is left in whose name it could be done
            continue
        inner = dict(scope)
        inner |= {"method": request["method"], "path": request["path"], "raw_path": request["path"].encode(), "caller": caller}
        inner["query_string"] = request["query"].encode("latin-1")
        inner["headers"] = [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value]
        await collect(app, inner, request["body"].encode("latin-1"))
