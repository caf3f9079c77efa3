"""Answers to GETs: which came, which came ahead of time, and whether they are those of an earlier run.

In: GETs, and who sends them. Out: their answers; of an answer that is known already, no request is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from reconciler.client.exchange import decode
from reconciler.errors import NotFound, ServiceError

ABSENT: Final = "absent"  # instead of a digest: 404


@dataclass(frozen=True)
class Answer:
    """A 2xx. `body`: the decoded JSON, None if it was empty. `date`: the service's clock, UTC. `digest`: SHA-256 of the body of a GET."""

    status: int
    body: Any
    date: datetime | None
    digest: str = field(default="", compare=False)


Ask = Callable[[str, Mapping[str, str] | None], Awaitable[Answer]]
"""What sends the GET of a path and a query."""


class KnownAnswers:
    """What is known of the answers to GETs. `digests`: by target; None if there was no answer, or two different ones."""

    def __init__(self) -> None:
        self.digests: dict[str, str | None] = {}
        self._ahead: dict[str, Answer] = {}  # requested ahead of time; each is returned once
        self._kept: dict[str, Answer] = {}
        self._keeping = False

    async def ask(self, path: str, query: Mapping[str, str] | None, ask: Ask) -> Answer:
        """The answer to a GET. Raises what `ask` raises."""
        target = f"{path}?{urlencode(query)}" if query else path
        answer = self._ahead.pop(target, None)
        if answer is not None:
            return replace(answer, body=decode(answer.body)) if isinstance(answer.body, bytes) else answer
        try:
            answer = await ask(path, query)
        except NotFound:
            self._note(target, ABSENT)
            raise
        except ServiceError:
            self._note(target, None)
            raise
        self._note(target, answer.digest)
        if self._keeping:
            self._kept[target] = answer
        return answer

    @contextmanager
    def keeping(self) -> Iterator[dict[str, Answer]]:
        """The answers that come in this block, by target; of a target that is asked for twice, the later one."""
        self._kept, self._keeping = {}, True
        try:
            yield self._kept
        finally:
            self._kept, self._keeping = {}, False

    @contextmanager
    def giving(self, answers: Mapping[str, Answer]) -> Iterator[None]:
        """In this block, what was answered before is given again to whoever asks for it, once; after it, nothing is."""
        self._ahead = dict(answers)
        try:
            yield
        finally:
            self._ahead = {}

    async def same(self, before: Mapping[str, str], ask: Ask) -> bool:
        """Whether every target is answered as `before`; the answers are kept for the next requests for them.

        Once one is refused, no further target is requested: whoever asks for it next gets the error.
        """
        self._ahead = {}
        came = dict[str, Answer]()
        try:
            async with asyncio.TaskGroup() as group:
                for target in before:
                    group.create_task(self._again(target, ask, came))
        except* ServiceError:
            pass
        self._ahead = came
        return self.digests == before

    async def _again(self, target: str, ask: Ask, came: dict[str, Answer]) -> None:
        path, _, query = target.partition("?")
        with suppress(NotFound):
            came[target] = await self.ask(path, dict(parse_qsl(query, keep_blank_values=True)), ask)

    def _note(self, target: str, digest: str | None) -> None:
        self.digests[target] = digest if self.digests.get(target, digest) == digest else None
