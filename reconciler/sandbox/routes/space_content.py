"""The content of a space and of its change requests: revision, pages, files, links between them, search, templates."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from reconciler.sandbox.content import revisions
from reconciler.sandbox.content.links import Book, listed
from reconciler.sandbox.content.places import FAMILIES, SPACE, Place
from reconciler.sandbox.content.searching import find_pages
from reconciler.sandbox.content.templates import TemplateApply, applied
from reconciler.sandbox.content.views import ContentView, Flags
from reconciler.sandbox.endpoints import Needs, Query, Router
from reconciler.sandbox.routes.change_requests import apply_to_request
from reconciler.sandbox.service import Caller, Calling, Fault, Paged, Paging, listing
from reconciler.sandbox.store import Object

router = Router(tags=["Content"])
LinkStatus = Literal["ok", "broken", "in-app"]


async def flags(git: bool = True, computed: bool = True) -> Flags:
    return Flags(git, computed)


Flagged: Any = Needs(flags)


def _view(place: Place, flags: Flags) -> ContentView:
    space, revision = place.content()
    return ContentView(place.caller, space, revision, flags)


def _book(place: Place) -> Book:
    return Book(place.caller, *place.content())


def _page(pages: list[Any], id: str) -> Object:
    waiting = list(pages)
    while waiting:
        page: Object = waiting.pop()
        if str(page["id"]) == id:
            return page
        waiting += page.get("pages") or []
    raise Fault(404, f"page {id} not found")


def _file(revision: Object, id: str) -> Object:
    for file in revision["_files"]:
        if str(file["id"]) == id:
            wanted: Object = file
            return wanted
    raise Fault(404, f"file {id} not found")


def _family(base: str, here: Any) -> None:
    """The endpoints that spaces and change requests both have."""

    @router.get(f"{base}/content")
    async def get_content(place: Place = here, flags: Flags = Flagged) -> Any:
        return _view(place, flags).revision()

    @router.get(f"{base}/content/pages")
    async def list_pages(place: Place = here, flags: Flags = Flagged) -> Any:
        return {"pages": _view(place, flags).pages()}

    @router.get(f"{base}/content/files")
    async def list_files(place: Place = here, flags: Flags = Flagged, paging: Paging = Paged) -> Any:
        view = _view(place, flags)
        return listing(view.kept["_files"], paging, view.file)

    @router.get(f"{base}/content/files/{{fileId}}")
    async def get_file(fileId: str, place: Place = here, flags: Flags = Flagged) -> Any:
        view = _view(place, flags)
        return view.file(_file(view.kept, fileId))

    @router.get(f"{base}/content/files/{{fileId}}/backlinks")
    async def list_file_backlinks(fileId: str, place: Place = here, paging: Paging = Paged) -> Any:
        book = _book(place)
        _file(book.revision, fileId)
        return listing(book.to("file", fileId), paging)

    @router.get(f"{base}/content/page/{{pageId}}")
    async def get_page(
        pageId: str,
        format: Literal["document", "markdown"] = "document",
        evaluated: Literal["true", "false", "deterministic-only"] = "false",
        place: Place = here,
        flags: Flags = Flagged,
    ) -> Any:
        view = _view(place, flags)
        return view.evaluated(_page(view.kept["_pages"], pageId), evaluated)

    @router.get(f"{base}/content/page/{{pageId}}/backlinks")
    async def list_page_backlinks(pageId: str, place: Place = here, paging: Paging = Paged) -> Any:
        book = _book(place)
        _page(book.revision["_pages"], pageId)
        return listing(book.to("page", pageId), paging)


for family in FAMILIES:
    _family(*family)


@router.get(f"{SPACE}/content/page/{{pageId}}/links")
async def list_page_links(
    spaceId: str, pageId: str, status: LinkStatus | None = None, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    book = _book(Place(caller, spaceId))
    _page(book.revision["_pages"], pageId)
    return listed(book, paging, status, pageId)


@router.get(f"{SPACE}/change-requests/{{changeRequestId}}/content/page/{{pageId}}/links")
async def list_change_request_page_links(
    spaceId: str, changeRequestId: str, pageId: str, paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    book = _book(Place(caller, spaceId, changeRequestId))
    _page(book.revision["_pages"], pageId)
    return listed(book, paging, page=pageId, main=_book(Place(caller, spaceId)))


@router.get(f"{SPACE}/links", tags=["Spaces"])
async def list_space_links(spaceId: str, status: LinkStatus | None = None, paging: Paging = Paged, caller: Caller = Calling) -> Any:
    return listed(_book(Place(caller, spaceId)), paging, status)


@router.get(f"{SPACE}/search")
async def search_space(
    spaceId: str, query: Annotated[str, Query(min_length=1, max_length=512)], paging: Paging = Paged, caller: Caller = Calling
) -> Any:
    space = caller.get("space", spaceId)
    return listing([] if space.get("deletedAt") else find_pages(caller.service.base, space, query), paging)


@router.post(f"{SPACE}/content/template", status_code=201)
async def apply_template(spaceId: str, body: TemplateApply, caller: Caller = Calling) -> None:
    with caller.store.write():
        space = revisions.space_of(caller, spaceId, "edit")
        if body.changeRequestId is None:
            now = revisions.current(caller.store, space)
            revisions.write(caller.store, space, applied(caller.store, space, body, now["_pages"], now["_files"]), now["_files"])
        else:
            request = revisions.find_request(caller.store, spaceId, body.changeRequestId)
            if request is None:
                raise Fault(400, f"changeRequestId: there is no change request {body.changeRequestId}")
            apply_to_request(caller, space, request, body)
