"""The requests of an earlier run, sent again to see whether anything has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from reconciler.client.answers import ABSENT, Answer, KnownAnswers
from reconciler.errors import NotFound, Rejected

BEFORE = {f"/objects/{number}": f"digest of {number}" for number in range(100)}


class Service:
    """Answers at most four requests at a time; everything after `refuses` requests is refused, and `gone` does not exist."""

    def __init__(self, *, refuses: int = 1000, gone: str = "") -> None:
        self.refuses, self.gone, self.asked = refuses, gone, list[str]()
        self._places = asyncio.Semaphore(4)

    async def ask(self, path: str, query: Mapping[str, str] | None) -> Answer:
        async with self._places:
            self.asked.append(path)
            await asyncio.sleep(0)
            if path == self.gone:
                raise NotFound(path, id="RC-not-found", status=404)
            if len(self.asked) > self.refuses:
                raise Rejected(path, id="RC-token-refused", status=401)
            return Answer(200, {"path": path}, None, f"digest of {path.rsplit('/', 1)[1]}")


def same(service: Service, before: Mapping[str, str]) -> tuple[bool, KnownAnswers]:
    known = KnownAnswers()
    return asyncio.run(known.same(before, service.ask)), known


def test_equal_answers_are_the_same_and_are_given_once_without_another_request() -> None:
    service = Service()
    equal, known = same(service, BEFORE)
    assert equal
    assert len(service.asked) == len(BEFORE)
    answer = asyncio.run(known.ask("/objects/7", None, service.ask))
    assert answer.body == {"path": "/objects/7"}
    assert len(service.asked) == len(BEFORE)


def test_after_a_refusal_no_more_is_asked() -> None:
    service = Service(refuses=0)
    equal, _ = same(service, BEFORE)
    assert not equal
    assert len(service.asked) <= 3 * 4  # what was under way, and what had its turn before the refusal was known


def test_an_object_that_was_absent_and_is_still_absent_is_the_same() -> None:
    equal, _ = same(Service(gone="/objects/7"), {**BEFORE, "/objects/7": ABSENT})
    assert equal
    equal, _ = same(Service(gone="/objects/7"), BEFORE)
    assert not equal
