"""Answers to GETs: the pages of a list, and which answers are known already.

An apply reads the organization twice: to find out what was changed outside Reconciler, and to plan. `keeping` remembers the answers of the
first reading, and `giving` returns each of them once in the second, so that no request is sent twice within seconds. What is requested
again after that is requested because it may have changed, so it is sent.

In: functions that send. Out: answers, and whole lists that say whether something is missing. Forbidden: HTTP.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from reconciler.errors import NotFound, ServiceError

# -- Answers -------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """A 2xx. `body`: the decoded JSON, None if it was empty. `date`: the service's clock, UTC."""

    status: int
    body: Any
    date: datetime | None


Ask = Callable[[str, Mapping[str, str] | None], Awaitable[Answer]]
"""Sends the GET of a path and a query."""


class KnownAnswers:
    """The answers to GETs that are kept, and those that are given instead of a request."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._given: dict[str, Answer] = {}
        self._kept: dict[str, Answer] | None = None

    async def get(self, path: str, query: Mapping[str, str] | None) -> Answer:
        """The answer to a GET. Raises what `ask` raises."""
        target = f"{path}?{urlencode(query)}" if query else path
        if target in self._given:
            return self._given.pop(target)
        answer = await self._ask(path, query)
        if self._kept is not None:
            self._kept[target] = answer
        return answer

    @contextmanager
    def keeping(self) -> Iterator[Mapping[str, Answer]]:
        """The answers that come in this block, by target; of a target that is asked for twice, the later one. A block around it has them
        too, once this one ends."""
        outer, kept = self._kept, dict[str, Answer]()
        self._kept = kept
        try:
            yield kept
        finally:
            self._kept = outer
            if outer is not None:
                outer.update(kept)

    @contextmanager
    def giving(self, answers: Mapping[str, Answer]) -> Iterator[None]:
        """In this block, what was answered before is given again to whoever asks for it, once; after it, nothing is."""
        outer, self._given = self._given, dict(answers)
        try:
            yield
        finally:
            self._given = outer


# -- Lists ---------------------------------------------------------------------------------------------------------------------------

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

    Read a second time if the service's `count` disagrees, or its paging ran in a circle. `what` names the list in errors.
    """
    # Pages shift under the reader: an object that is deleted on page 1 moves the first one of page 2 to page 1, where it is not seen any
    # more. The service's own count shows that; a second reading is nearly always complete.
    count, listing = await _read_once(fetch, key, what)
    if listing.complete and (count is None or count == len(listing.items)):
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
        # A token that came before would read the same pages for ever. Where that page has nothing, it is the last one, whose token some
        # services repeat; elsewhere there may be pages behind it that no token leads to.
        if token is None or token in tokens:
            complete = token is None or not body["items"] or count == len(items)
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
