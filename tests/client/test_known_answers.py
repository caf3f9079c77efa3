"""Answers that are kept, and given again instead of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from reconciler.client.answers import Answer, KnownAnswers


def test_blocks_inside_each_other_keep_and_give_for_themselves_and_for_the_one_around() -> None:
    asked: list[str] = []

    async def ask(path: str, query: Mapping[str, str] | None) -> Answer:
        asked.append(path)
        return Answer(200, {"path": path}, None)

    async def run() -> None:
        answers = KnownAnswers(ask)
        with answers.keeping() as outer:
            await answers.get("/first", None)
            with answers.keeping() as inner:
                await answers.get("/second", None)
            assert [*inner] == ["/second"]
            with answers.giving(outer):
                with answers.giving(inner):
                    await answers.get("/second", None)
                await answers.get("/first", None)
            await answers.get("/third", None)
        assert [*outer] == ["/first", "/second", "/third"]

    asyncio.run(run())
    assert asked == ["/first", "/second", "/third"]
