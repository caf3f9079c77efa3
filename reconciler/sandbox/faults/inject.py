"""The middleware that makes requests go wrong; without rules and without the header it only passes them on."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from reconciler.sandbox.endpoints import Endpoint
from reconciler.sandbox.faults import answers, book, late
from reconciler.sandbox.faults.answers import Answer, collect, cut, deliver, refusal, transport
from reconciler.sandbox.faults.book import Chosen
from reconciler.sandbox.faults.past import Past
from reconciler.sandbox.faults.rules import (
    VERSION,
    AnyRule,
    Call,
    Checkout,
    Conflicts,
    Cut,
    DeleteReset,
    Error,
    Forbidden,
    Late,
    Latency,
    ListLag,
    NotJson,
    PositionIgnored,
    RateLimit,
    Truncated,
    UnstablePages,
    VariantsWrapped,
    call_of,
    parse,
)
from reconciler.sandbox.service import Service

HEADER: Final = "X-Sandbox-Fault"
WORDS: Final = {500: "internal error", 502: "bad gateway", 503: "service unavailable", 504: "gateway timeout"}


class Faults:
    """Between the front of the service and its endpoints."""

    def __init__(self, app: ASGIApp, service: Service, endpoints: Sequence[Endpoint]) -> None:
        self.app, self.service, self.endpoints, self.past = app, service, endpoints, Past()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(f"{VERSION}/"):
            await self.app(scope, receive, send)
            return
        store = self.service.store
        await late.catch_up(self.app, self.service, scope)
        header = Headers(scope=scope).get(HEADER)
        if header is None and store.meta(book.KEY) is None:
            self.past.forget()
            await self.app(scope, receive, send)
            return
        try:
            own = [_own(header)] if header is not None else []
        except ValueError as error:
            await deliver(refusal(400, f"{HEADER}: {error}"), send)
            return
        body = await _read(receive)
        if body is None:
            return  # the caller closed the connection
        call = call_of(self.endpoints, scope, body)
        chosen, headers = book.choose(store, call, own)
        await _Request(self, scope, receive, send, call, headers).run(chosen)


class _Request:
    """One request that may go wrong."""

    def __init__(self, faults: Faults, scope: Scope, receive: Receive, send: Send, call: Call, headers: dict[str, str]) -> None:
        self.faults, self.app, self.service = faults, faults.app, faults.service
        self.scope, self.receive, self.send, self.call, self.headers = dict(scope), receive, send, call, headers

    async def run(self, chosen: Sequence[Chosen]) -> None:
        last = chosen[-1] if chosen and chosen[-1].rule.ends else None
        others = [rule for rule in chosen if rule is not last]
        for rule in others:
            if isinstance(rule.rule, Latency):
                await asyncio.sleep(rule.rule.seconds)
        if last is not None and await self._instead(last):
            return
        answer = await self._effect(others)
        if last is None:
            await self._deliver(answer)
        else:
            await self._spoiled(answer, last)

    async def _deliver(self, answer: Answer, *, until: int | None = None) -> None:
        await deliver(answer.with_headers(self.headers), self.send, until=until)

    # -- in place of the effect --------------------------------------------------------------------------------------------------------

    async def _instead(self, chosen: Chosen) -> bool:
        """Answer without doing anything. False where the rule is about what comes after the effect."""
        answer: Answer | None = None
        match chosen.rule:
            case RateLimit() as rule:
                wait = chosen.verdict.wait if chosen.verdict is not None else 0
                answer = refusal(429, "too many requests", {"Retry-After": str(wait)} if rule.retryAfter else None)
            case Forbidden():
                answer = refusal(403, "you may not use this object")
            case Error(when="before") as rule:
                answer = _error(rule)
            case Cut(when="before", effect=False):
                await cut(self.receive)
                return True
            case Late() as rule:
                late.keep(self.service.store, self.scope, self.call.body, rule.seconds)
                if rule.status is None:
                    await cut(self.receive)
                    return True
                answer = refusal(rule.status, WORDS[rule.status])
            case Checkout() | Conflicts() as rule:
                answer = await self._not_really(rule)
                if answer is None:
                    book.retract(self.service.store, chosen)
        if answer is None:
            return False
        await self._deliver(answer)
        return True

    async def _not_really(self, rule: Checkout | Conflicts) -> Answer | None:
        """200 although nothing was done, for an object that exists and that the caller may change."""
        listed = (await self._look(self.call.path.rsplit("/", 1)[0])).json()
        if not isinstance(listed, dict) or "object" not in listed:
            return None
        if isinstance(rule, Checkout):
            return answers.of_json(200, {"type": "checkout", "sessionId": self.service.store.new_id("checkout")})
        return answers.of_json(200, {"revision": listed.get("revision", ""), "result": "conflicts"})

    async def _look(self, path: str) -> Answer:
        return await collect(self.app, {**self.scope, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}, b"")

    # -- the effect --------------------------------------------------------------------------------------------------------------------

    async def _effect(self, chosen: Sequence[Chosen]) -> Answer:
        """Let the service do it, misled by the rules that do not end."""
        scope, body, store, past = dict(self.scope), self.call.body, self.service.store, self.faults.past
        deletes: Chosen | None = None
        for item in chosen:
            match item.rule:
                case PositionIgnored():
                    body = _without(self.call.json(), "position")
                    # the length of the body that the client sent no longer fits the shorter one
                    scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
                case UnstablePages() as rule:
                    query = _shifted(self.call.query, -1 if rule.how == "repeat" else 1)
                    if query is None:
                        book.retract(store, item)
                    else:
                        scope["query_string"] = query.encode()
                case ListLag() as rule:
                    then = past.at(store, rule)
                    if then is None:
                        book.retract(store, item)
                    else:
                        caller = scope["caller"]
                        scope["caller"] = replace(caller, service=replace(caller.service, store=then))
                case DeleteReset():
                    deletes = item
                case VariantsWrapped():
                    scope["caller"] = replace(scope["caller"], wraps=True)
        rules = [item.rule for item in book.read(store)] if self.call.writes else []
        kept = self.call.writes and past.before_write(store, rules)
        before = store.connection.total_changes
        answer = await collect(self.app, scope, body)
        changed = store.connection.total_changes != before
        if kept:
            past.after_write(rules, changed=changed)
        if deletes is not None:
            # the rule is about a delete that deleted something: one that is repeated stays 204
            if answer.status == 204 and changed:
                answer = replace(answer, status=205)
            else:
                book.retract(store, deletes)
        return answer

    # -- after the effect --------------------------------------------------------------------------------------------------------------

    async def _spoiled(self, answer: Answer, chosen: Chosen) -> None:
        match chosen.rule:
            case Error() as rule:
                await self._deliver(_error(rule))
            case NotJson() as rule:
                await self._deliver(answers.page(answer, rule))
            case Truncated():
                if not answer.body:
                    book.retract(self.service.store, chosen)
                await self._deliver(replace(answer, body=answer.body[: len(answer.body) // 2]))
            case Cut(when="before"):
                await cut(self.receive)
            case Cut(when="during"):
                await self._deliver(answer, until=len(answer.body) // 2)
                await cut(self.receive)
            case Cut():
                await self._deliver(answer)
                # inside a process there is no connection to close after a whole answer: the caller has it already
                if transport(self.receive) is not None:
                    await cut(self.receive)
            case _:
                await self._deliver(answer)


def _own(header: str) -> AnyRule:
    rule = parse(header)
    if isinstance(rule, ListLag):
        # the header comes with the list itself, when nobody has kept what was true before
        raise ValueError("list-lag must be active before the writes; set it as a rule")
    return rule


async def _read(receive: Receive) -> bytes | None:
    """The whole body; None where the caller went away."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _without(body: dict[str, Any], name: str) -> bytes:
    try:
        return json.dumps({key: value for key, value in body.items() if key != name}).encode()
    except RecursionError:
        # a body that is too deep to be written again is too deep for the service too: it must refuse it, so any invalid JSON does
        return b"["


def _error(rule: Error) -> Answer:
    wait = None if rule.retryAfter is None else {"Retry-After": f"{rule.retryAfter:g}"}
    return refusal(rule.status, WORDS[rule.status], wait)


def _shifted(query: str, by: int) -> str | None:
    """A query whose page begins an item earlier or later; None where its page token is not the service's."""
    pairs: list[tuple[str, Any]] = []
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name == "page":
            try:
                start = int(base64.urlsafe_b64decode(value.encode()).decode().removeprefix("from:"))
            except ValueError:
                return None
            value = base64.urlsafe_b64encode(f"from:{max(0, start + by)}".encode()).decode()
        pairs.append((name, value))
    return urlencode(pairs)
