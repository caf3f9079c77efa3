"""Control endpoints of misbehaviour, outside /v1: set, show and clear the rules, read what was injected."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from reconciler.sandbox.control import Controlled
from reconciler.sandbox.faults import book, late, log
from reconciler.sandbox.faults.rules import AnyRule, label
from reconciler.sandbox.service import Fault, Service

router = APIRouter(prefix="/_sandbox/faults", include_in_schema=False)


class FaultsSet(BaseModel):
    """All rules, in the order in which they are tried."""

    model_config = ConfigDict(extra="forbid")

    rules: Annotated[list[AnyRule], Field(max_length=100)]


def _shown(found: Service) -> Any:
    rules = [one.shown() for one in book.read(found.store)]
    return {"rules": rules, "late": [{key: one[key] for key in ("method", "path")} for one in late.waiting(found.store)]}


@router.get("")
async def show_faults(found: Service = Controlled) -> Any:
    return _shown(found)


@router.put("")
async def set_faults(body: FaultsSet, found: Service = Controlled) -> Any:
    labels = [label(rule, index) for index, rule in enumerate(body.rules)]
    twice = next((one for index, one in enumerate(labels) if one in labels[:index] or one == book.OF_HEADER), None)
    if twice is not None:
        raise Fault(400, f"rules: {twice} is the name of another rule")
    book.set_rules(found.store, body.rules)
    return _shown(found)


@router.delete("", status_code=204)
async def clear_faults(found: Service = Controlled) -> Response:
    """Everything goes well from now on; the log stays, and so do writes that are late."""
    book.set_rules(found.store, [])
    return Response(status_code=204)


@router.get("/log")
async def show_log(found: Service = Controlled) -> Any:
    items = log.entries(found.store)
    return {"items": items, "count": len(items)}


@router.delete("/log", status_code=204)
async def clear_log(found: Service = Controlled) -> Response:
    log.clear(found.store)
    return Response(status_code=204)
