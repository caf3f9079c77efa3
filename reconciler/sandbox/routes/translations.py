"""Translations of spaces into other languages."""

from __future__ import annotations

from typing import Any

from reconciler.sandbox.content import rich
from reconciler.sandbox.endpoints import Router
from reconciler.sandbox.service import Caller, Calling, Paged, Paging, listing
from reconciler.sandbox.workflow import translations
from reconciler.sandbox.workflow.translations import KIND, TranslationCreate

router = Router(prefix="/orgs/{organizationId}/translations", tags=["Translations"])


@router.get("")
async def list_translations(organizationId: str, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    caller.member(organizationId)
    rows = caller.store.rows(KIND, organization=organizationId)
    return listing(rows, paging, lambda item: translations.show(caller, item))


@router.post("", status_code=201)
async def create_translation(organizationId: str, body: TranslationCreate, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        translation = translations.create(caller.store, organizationId, body)
    return translations.show(caller, translation)


@router.get("/{translationId}")
async def get_translation(organizationId: str, translationId: str, caller: Caller = Calling) -> Any:
    return translations.show(caller, caller.get(KIND, translationId, organizationId))


@router.put("/{translationId}")
async def put_translation(organizationId: str, translationId: str, body: rich.InstructionsPut, caller: Caller = Calling) -> Any:
    caller.creator(organizationId)
    with caller.store.write():
        translation = caller.get(KIND, translationId, organizationId)
        translation |= {"instructions": body.instructions, "updatedAt": caller.store.stamp()}
        caller.store.save(KIND, translation)
    return translations.show(caller, translation)


@router.delete("/{translationId}", status_code=204)
async def remove_translation(organizationId: str, translationId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    translation = caller.store.find(KIND, translationId)
    if translation is not None and translation["organization"] == organizationId:
        caller.store.remove(KIND, translationId)


@router.post("/{translationId}/run", status_code=204)
async def run_translation(organizationId: str, translationId: str, caller: Caller = Calling) -> None:
    caller.creator(organizationId)
    with caller.store.write():
        translations.run(caller.store, caller.get(KIND, translationId, organizationId))
