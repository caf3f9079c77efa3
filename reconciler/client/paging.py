"""Read all pages of a list, and report when some are missing.

In: a function that reads one page. Out: `WholeList`. Forbidden: HTTP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from reconciler.client.answers import Answer
from reconciler.errors import NotFound, ServiceError

PAGE_SIZE: Final = 1000  # the service's maximum
PAGES_MAX: Final = 1_000  # a million objects; a service that pages forever must not block the run


@dataclass(frozen=True)
class WholeList:
    """All pages of a list. `date`: the service's, of the first page, from which no object seen had changed before.

    `pages` counts every page asked for. `complete` is False if twice fewer items came than the service counts, or its paging ran in a
    circle: objects missing from such a listing may exist.
    """

    items: tuple[dict[str, Any], ...]
    pages: int
    date: datetime | None
    complete: bool = True


async def read_all(fetch: Callable[[str | None], Awaitable[Answer]], key: Callable[[dict[str, Any]], str], what: str) -> WholeList:
    """Every page, each object once, in the order of its first appearance and with its last content.

    Read a second time if the service's `count` disagrees. `what` names the list in errors.
    """
    # Pages shift under the reader: an object that is deleted on page 1 moves the first one of page 2 to page 1, where it is not seen any
    # more. The service's own count shows that; a second reading is nearly always complete.
    count, listing = await _read_once(fetch, key, what)
    if count is None or count == len(listing.items):
        return listing
    count, again = await _read_once(fetch, key, what)
    complete = again.complete if count is None else len(again.items) >= count
    return WholeList(again.items, listing.pages + again.pages, again.date, complete)


async def _read_once(
    fetch: Callable[[str | None], Awaitable[Answer]], key: Callable[[dict[str, Any]], str], what: str
) -> tuple[int | None, WholeList]:
    items: dict[str, dict[str, Any]] = {}
    tokens: set[str] = set()
    token: str | None = None
    date: datetime | None = None
    count: int | None = None
    for number in range(1, PAGES_MAX + 1):
        try:
            page = await fetch(token)
        # A later page that is missing does not prove that the container is: taken for that, everything in it would be created again.
        except NotFound as error:
            if number == 1:
                raise
            raise ServiceError(f"{what}: page {number} was not found", id="RC-response-unusable", status=error.status) from None
        body = page.body
        if not isinstance(body, dict) or not isinstance(body.get("items"), list):
            raise ServiceError(f"{what}: the response is not a list", id="RC-response-unusable")
        for item in body["items"]:
            # An object that moved down is seen twice; its later content is the newer one.
            items[_key_of(item, key, what)] = item
        # The first page's: a change after it may be missing here, so nothing newer than that may be believed.
        date = date if number > 1 else page.date
        count = body["count"] if type(body.get("count")) is int else count
        token = _next_token(body, what)
        # A token that came before would read the same pages for ever.
        if token is None or token in tokens:
            complete = token is None or count == len(items)
            return count, WholeList(tuple(items.values()), number, date, complete)
        tokens.add(token)
    raise ServiceError(f"{what}: the list did not end after {PAGES_MAX} pages", id="RC-list-without-end")


def _key_of(item: Any, key: Callable[[dict[str, Any]], str], what: str) -> str:
    try:
        value = key(item)
    except (KeyError, TypeError, IndexError, AttributeError):
        value = None
    if not isinstance(item, dict) or not isinstance(value, str) or not value:
        raise ServiceError(f"{what}: an item of the list has no id", id="RC-response-unusable")
    return value


def _next_token(body: dict[str, Any], what: str) -> str | None:
    following = body.get("next")
    if following is None:
        return None
    token = following.get("page") if isinstance(following, dict) else following
    if token is None or token == "":
        return None
    if not isinstance(following, dict) or not isinstance(token, str):
        raise ServiceError(f"{what}: the response does not name the next page", id="RC-response-unusable")
    return token
