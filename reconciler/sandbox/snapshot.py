"""The whole file at once, outside /v1: everything it holds as one document, and beginning again."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, StrictFloat, StrictInt, StrictStr

from reconciler.sandbox.control import Controlled
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.seed import SeedError, plant
from reconciler.sandbox.service import Fault, Service
from reconciler.sandbox.store import Store

router = Router(prefix="/_sandbox", include_in_schema=False)

OBJECT: Final = ("kind", "id", "organization", "container", "position", "data")
TOKEN: Final = ("token", "member", "organization", "access")
STAYS: Final = ("identity",)  # of what the file says of itself
ORIGIN: Final = "origin"  # of a copy: the URL of the service that was copied


class ObjectKept(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: StrictStr
    id: StrictStr
    organization: StrictStr
    container: StrictStr
    position: StrictFloat | StrictInt
    data: dict[str, Any]


class TokenKept(BaseModel):
    model_config = ConfigDict(extra="forbid")

    token: StrictStr
    member: StrictStr
    organization: StrictStr
    access: StrictStr


class Everything(BaseModel):
    """What an export holds; its identity and time are only told. `origin`: of a copy, the URL of the service that was copied."""

    identity: StrictStr | None = None
    now: StrictStr | None = None
    origin: StrictStr | None = None
    tokens: list[TokenKept] = []
    objects: list[ObjectKept] = []


class Reset(BaseModel):
    """What is there afterwards: nothing, the objects of a seed, or those of an export."""

    model_config = ConfigDict(extra="forbid")

    seed: dict[str, Any] | None = None
    export: Everything | None = None


@router.get("/export")
async def export(running: Service = Controlled) -> Any:
    return exported(running.store)


def exported(store: Store) -> dict[str, Any]:
    """Everything the file holds, as it is kept: fields that begin with _ are the service's own."""
    run = store.connection.execute
    tokens = run(f"select {', '.join(TOKEN)} from tokens order by token")  # noqa: S608 - our own names
    objects = run(f"select {', '.join(OBJECT)} from objects order by kind, container, position, id")  # noqa: S608 - our own names
    origin = store.meta(ORIGIN)
    return {
        "identity": store.identity,
        "now": store.stamp(),
        **({} if origin is None else {"origin": origin}),
        "tokens": [dict(zip(TOKEN, row, strict=True)) for row in tokens],
        "objects": [{**dict(zip(OBJECT[:-1], row, strict=False)), "data": json.loads(row[-1])} for row in objects],
    }


@router.post("/reset")
async def reset(body: Reset, running: Service = Controlled) -> Any:
    """Everything but the file's identity goes: objects, tokens, rules of misbehaviour, the log, the clock that was set."""
    if body.seed is not None and body.export is not None:
        raise Fault(400, "seed, export: expected one of them")
    store = running.store
    try:
        with store.write():
            _empty(store)
            if body.seed is not None:
                plant(store, body.seed)
            if body.export is not None:
                restore(store, body.export)
    except SeedError as error:
        raise Fault(400, f"seed: {error}") from error
    return {"identity": store.identity, "objects": store.count_all()}


def _empty(store: Store) -> None:
    run = store.connection.execute
    tables = [row[0] for row in run("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")]
    for table in tables:
        if table != "meta":
            run(f'delete from "{table}"')  # noqa: S608 - the names of our own tables
    run(f"delete from meta where key not in ({', '.join('?' * len(STAYS))})", STAYS)  # noqa: S608


def restore(store: Store, export: Everything) -> None:
    """Put everything of an export into an empty store, in a transaction of the caller. Raises `Fault` for what a file cannot keep."""
    if export.origin is not None:
        store.set_meta(ORIGIN, export.origin)
    try:
        _insert(store, export)
    except (OverflowError, UnicodeEncodeError, sqlite3.Error) as error:
        raise Fault(400, "export: it holds what the file cannot keep") from error


def _insert(store: Store, export: Everything) -> None:
    for token in export.tokens:
        store.add_token(token.token, token.member, token.organization, token.access)
    for kept in export.objects:
        data = json.dumps(kept.data, ensure_ascii=False, separators=(",", ":"))
        row = (kept.kind, kept.id, kept.organization, kept.container, kept.position, data)
        store.connection.execute(
            f"insert or replace into objects ({', '.join(OBJECT)}) values (?, ?, ?, ?, ?, ?)",  # noqa: S608 - our own names
            row,
        )
