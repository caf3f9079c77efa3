"""Control endpoints of misbehaviour, outside /v1: set, show and clear the rules, read what was injected."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from reconciler.sandbox.control import Controlled
from reconciler.sandbox.endpoints import Response, Router
from reconciler.sandbox.faults import book, late, log
from reconciler.sandbox.faults.rules import AnyRule, label
from reconciler.sandbox.service import Fault, Service

router = Router(prefix="/_sandbox/faults", include_in_schema=False)


class FaultsSet(BaseModel):
    """All rules, in the order in which they are tried."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    rules: Annotated[list[AnyRule], Field(max_length=100)]


def _shown(running: Service) -> Any:
    rules = [rule.shown() for rule in book.read(running.store)]
    return {"rules": rules, "late": [{key: rule[key] for key in ("method", "path")} for rule in late.waiting(running.store)]}


@router.get("")
async def show_faults(running: Service = Controlled) -> Any:
    return _shown(running)


@router.put("")
async def set_faults(body: FaultsSet, running: Service = Controlled) -> Any:
    labels = [label(rule, index) for index, rule in enumerate(body.rules)]
    twice = next((item for index, item in enumerate(labels) if item in labels[:index] or item == book.OF_HEADER), None)
    if twice is not None:
        raise Fault(400, f"rules: {twice} is the name of another rule")
    book.set_rules(running.store, body.rules)
    return _shown(running)


@router.delete("", status_code=204)
async def clear_faults(running: Service = Controlled) -> Response:
    """Everything goes well from now on; the log stays, and so do writes that are late."""
    book.set_rules(running.store, [])
    return Response(status_code=204)


@router.get("/log")
async def show_log(running: Service = Controlled) -> Any:
    items = log.entries(running.store)
    return {"items": items, "count": len(items)}


@router.delete("/log", status_code=204)
async def clear_log(running: Service = Controlled) -> Response:
    log.clear(running.store)
    return Response(status_code=204)
