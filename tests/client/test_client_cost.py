"""What a request costs: at most a third more calls than the transport needs by itself."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import aiohttp
from client_fakes import FakeService, answer
from yarl import URL

from reconciler.client import ClientSettings, RetryClass
from reconciler.client.service import Writer
from tests.effort import calls

REQUESTS = 100
TOKEN = "token"
BODY = {"title": "Writers", "description": "They write"}
HEADERS = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}


@contextmanager
def elsewhere() -> Iterator[str]:
    """The base address of a service in a thread of its own, whose calls are not counted."""
    ready, base, loops = threading.Event(), [""], list[asyncio.AbstractEventLoop]()
    over = asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        async with FakeService([answer(200, {"id": "t", **BODY})]) as service:
            base[0] = service.base_url
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(30)
    try:
        yield base[0]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        thread.join()


async def bare(base: str) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1), headers=HEADERS) as session:
        for number in range(REQUESTS):
            async with session.patch(URL(f"{base}/v1/orgs/o/teams/{number}", encoded=True), data=json.dumps(BODY).encode()) as response:
                json.loads(await response.read())


async def ours(base: str) -> None:
    async with Writer(ClientSettings(base, TOKEN, max_concurrency=1)) as writer:
        for number in range(REQUESTS):
            await writer.send("PATCH", f"/orgs/o/teams/{number}", BODY, retry=RetryClass.IDEMPOTENT, deadline=30.0)


def counted(work: Callable[[str], Awaitable[None]], base: str) -> int:
    async def run() -> None:
        await work(base)

    return calls(lambda: asyncio.run(run()))


def test_a_request_takes_at_most_a_third_more_calls_than_the_same_request_bare() -> None:
    with elsewhere() as base:
        for work in (bare, ours):
            counted(work, base)  # what is imported and made once is no request's
        assert 3 * counted(ours, base) <= 4 * counted(bare, base)
