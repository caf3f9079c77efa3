"""The service, as the rest of the program uses it: a reader and a writer.

In: encoded paths without `/v1`. Out: answers and listings, or errors of the tree. Forbidden: knowledge of the purpose of any path.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from reconciler.client.answers import PAGE_SIZE, Answer, KnownAnswers, WholeList, read_all
from reconciler.client.conversation import Conversation
from reconciler.client.pacing import Clock
from reconciler.client.retry import RetryClass
from reconciler.client.settings import ClientSettings
from reconciler.client.transport import InTime, OnlyGet, Transport, always
from reconciler.client.wire import default_transport
from reconciler.model import Allowance, Listener, ServiceSpeed

_CHANCE = random.SystemRandom().random


def _by_id(item: dict[str, Any]) -> str:
    identity: str = item["id"]
    return identity


class Reader:
    """Reads only: it has no method that writes, and its transport refuses everything but GET.

    Use it in `async with`: on leaving, the transport is closed, also one that was passed in. `jitter`: random numbers in [0, 1). `clock`:
    also for callers that wait between reads. `concurrency`: the maximum of requests in flight. `base_url`: of the service.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        transport: Transport | None = None,
        listener: Listener = Listener(),  # noqa: B008  has no state
        clock: Clock | None = None,
        jitter: Callable[[], float] = _CHANCE,
    ) -> None:
        # Made here and not in `__aenter__`, so that a wrong variable of proxies or certificates is an error before anything begins.
        self._transport = self._guarded(transport or default_transport(settings.base_url, settings.max_concurrency))
        self._listener = listener
        self.clock = clock or settings.clock
        self._conversation = Conversation(settings, self._transport, listener, self.clock, jitter)
        self._answers = KnownAnswers(self._ask)
        self.base_url, self.concurrency = settings.base_url, settings.max_concurrency

    def _guarded(self, transport: Transport) -> Transport:
        return OnlyGet(transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._transport.close()

    @property
    def requests(self) -> int:
        """How many requests were sent, retries included."""
        return self._conversation.requests

    @property
    def allowance(self) -> Allowance | None:
        """What is left of the service's rate limit, as far as its headers report it."""
        return self._conversation.allowance

    @property
    def speed(self) -> ServiceSpeed:
        """How fast the service answered so far; 0 seconds where it did not."""
        return self._conversation.speed

    @property
    def skew(self) -> float | None:
        """Seconds that the service's clock is ahead of ours, to the second; None if no response had a Date header."""
        return self._conversation.skew

    def note_root(self, path: str) -> None:
        """Note a path that every accepted token may read: it is asked before a 401 on another path counts as a refused token."""
        self._conversation.note_root(path)

    def monotonic(self) -> float:
        """Seconds of its clock, which only goes forward."""
        return self.clock.monotonic()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """Read one object. Raises NotFound, Rejected, Unavailable, or ServiceError for an unusable answer."""
        return await self._answers.get(path, query)

    async def _ask(self, path: str, query: Mapping[str, str] | None) -> Answer:
        return await self._conversation.ask("GET", path, query, retry=RetryClass.READ)

    def count_objects(self, number: int) -> None:
        """Tell who listens that answers showed so many more objects. Whoever reads them calls it: lists show objects more than once."""
        self._listener.read(number)

    def announce(self, people: int, requests: int) -> None:
        """Tell who listens that so many people will be asked what they can read, with at least so many requests."""
        self._listener.asking(people, requests)

    def keeping(self) -> AbstractContextManager[Mapping[str, Answer]]:
        """The answers that come in this block, for `giving`."""
        return self._answers.keeping()

    def giving(self, answers: Mapping[str, Answer]) -> AbstractContextManager[None]:
        """In this block, a reading that was answered before gets that answer again, once; nothing is sent for it."""
        return self._answers.giving(answers)

    async def list(self, path: str, query: Mapping[str, str] | None = None, *, key: Callable[[dict[str, Any]], str] = _by_id) -> WholeList:
        """Read all pages of a list, each object once by `key`. Raises like `get`, for any page that fails."""

        async def fetch(token: str | None) -> Answer:
            page = {} if token is None else {"page": token}
            return await self._answers.get(path, {**(query or {}), "limit": str(PAGE_SIZE), **page})

        return await read_all(fetch, key, f"GET {path}")


class Writer(Reader):
    """Reads and writes."""

    def _guarded(self, transport: Transport) -> Transport:
        return transport

    async def send(
        self, method: str, path: str, body: Any | None, *, retry: RetryClass, deadline: float | None = None, in_time: InTime = always
    ) -> Answer:
        """Write. `deadline`: seconds for everything, waiting and retries included; it ends before the lease does. `in_time`: called just
        before the first byte of each attempt; nothing is sent if it returns False.

        Raises NotFound and Rejected (nothing was done), Unavailable (nothing was done, which is proven), Ambiguous (it may have been done).
        """
        return await self._conversation.ask(method, path, body, retry=retry, deadline=deadline, in_time=in_time)
