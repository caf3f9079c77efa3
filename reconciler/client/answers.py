"""Answers to GETs, and which of them are known already.

An apply reads the organization twice: once to find out what changed outside, and once more to plan. `keeping` remembers the answers of the
first reading, and `giving` hands each of them out once in the second, so that no request is sent twice within seconds. What is asked for
again after that is asked for because it may have changed, so it is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode


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
        """The answers that come in this block, by target; of a target that is asked for twice, the later one."""
        kept = self._kept = {}
        try:
            yield kept
        finally:
            self._kept = None

    @contextmanager
    def giving(self, answers: Mapping[str, Answer]) -> Iterator[None]:
        """In this block, what was answered before is given again to whoever asks for it, once; after it, nothing is."""
        self._given = dict(answers)
        try:
            yield
        finally:
            self._given = {}
