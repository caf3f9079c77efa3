"""Services that differ from the sandbox: a rehearsal names what its reading showed, and its assumptions name what only a write can show."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.command_line import Cli
from tests.features.rehearsal.service import LivingService, serving
from tests.features.rehearsal.test_against_applies import ALL, APPLY, _trees, _write
from tests.organizations import TOKEN
from tests.proofs import costly

STORED = "Values are stored as they are sent."
ORDERED = "An object comes where its request puts it"
DERIVED = "A path that the YAML does not write follows from the title"


def _as_it_is(path: str, body: Any) -> Any:
    return body


def _titles(path: str, body: Any) -> Any:
    """Titles in capitals."""
    return {key: value.upper() if key == "title" and isinstance(value, str) else value for key, value in body.items()}


def _reversed(path: str, body: Any) -> Any:
    """The objects of a list in the reverse order."""
    if isinstance(body.get("items"), list) and not body.get("next"):
        return {**body, "items": body["items"][::-1]}
    return body


@dataclass
class Odd(LivingService):
    """`sent`: what it makes of a body that is sent; `shown`: of an answer; `derives`: whether it derives other paths."""

    sent: Callable[[str, Any], Any] = _as_it_is
    shown: Callable[[str, Any], Any] = _as_it_is
    derives: bool = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or (scope["method"] != "GET" and self.limit is not None):
            await super().__call__(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        method, path = scope["method"], scope["path"]
        changed = self.sent(path, json.loads(body)) if body else None
        query = scope["query_string"].decode()
        headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url=self.base) as client:
            answer = await client.request(
                method, f"{path}?{query}" if query else path, headers=headers, content=json.dumps(changed) if body else None
            )
            data = answer.json() if answer.content else None
            created = method == "POST" and answer.status_code == 201 and path.rpartition("/")[2] in ("sections", "site-spaces")
            if self.derives and created and "path" not in (changed or {}) and "path" in (data or {}):
                another = {"path": f"{answer.json()['path']}-page"[-100:]}
                data = (await client.patch(f"{path}/{answer.json()['id']}", headers=headers, json=another)).json()
        if method != "GET":
            self.writes.append(f"{method} {path.removeprefix('/v1')}")
            self.moments.append(self.look())
        content = b"" if data is None else json.dumps(self.shown(path, data) if isinstance(data, dict) else data).encode()
        kept = [(name, value) for name, value in answer.headers.raw if name.lower() != b"content-length"]
        start = {"type": "http.response.start", "status": answer.status_code}
        await send({**start, "headers": [*kept, (b"content-length", str(len(content)).encode())]})
        await send({"type": "http.response.body", "body": content})


ODD: dict[str, tuple[Callable[[Odd], None], str]] = {
    "titles": (lambda odd: setattr(odd, "sent", _titles), STORED),
    "paths": (lambda odd: setattr(odd, "derives", True), DERIVED),
    "order": (lambda odd: setattr(odd, "shown", _reversed), ORDERED),
}
SEEDS = {"titles": 1, "paths": 8, "order": 7}


def _names_what_is_odd(folder: Path, sort: str, number: int) -> bool:
    """Whether the assumption is named that the service does not fulfil; it is, wherever it led to something else than the rehearsal."""
    folder.mkdir(exist_ok=True)
    with serving(folder / "living.db", Odd) as service:
        assert isinstance(service, Odd)
        make, assumption = ODD[sort]
        make(service)
        cli = Cli(folder, {"RECONCILER_BASE_URL": service.base, "RECONCILER_TOKEN": TOKEN, "RECONCILER_STATE": "sqlite:///state.db"})
        before, after = _trees(number)
        _write(cli, before)
        cli(*APPLY)
        _write(cli, after)
        service.begin()
        planned = json.loads(cli("plan", ".", "--format", "json", "--allow-replace", "**").stdout)
        document = json.loads(cli("rehearse", ".", "--format", "json", *ALL).stdout)
        assert service.writes == []
        # What a reading shows: the copy has the same, so its plan is that of the original.
        assert not any("by the plan of the copy" in entry["observation"] for entry in document["divergences"])
        assert document["requests"]["apply"] >= len(planned["steps"])
        cli(*APPLY)
        start, end = service.moments[0], service.moments[-1]
        urls = {"before": len(start.urls), "after": len(end.urls), "dead": len(set(start.urls) - set(end.urls))}
        shown = document["urls"]
        rehearsed = {"before": shown["before"], "after": shown["after"], "dead": len(shown["dead"]) + len(shown["moved"])}
        again = json.loads(cli("plan", ".", "--format", "json", "--allow-replace", "**").stdout)
        unlike = urls != rehearsed or [f"{step['address']}: {step['verb']}" for step in again["steps"]] != document["remaining"]
        named = [*document["assumptions"], *document["unread"], *document["failures"]]
        if unlike:
            assert any(assumption in sentence for sentence in named) or document["divergences"], (sort, number, named)
        return any(assumption in sentence for sentence in named)


@costly
@pytest.mark.parametrize("sort", ODD)
def test_what_an_odd_service_does_otherwise_is_named(tmp_path: Path, sort: str) -> None:
    assert _names_what_is_odd(tmp_path / "1", sort, SEEDS[sort])


@pytest.mark.proof
@pytest.mark.parametrize("sort", ODD)
@pytest.mark.parametrize("start", range(100, 120, 5))
def test_what_odd_services_do_otherwise_is_named(tmp_path: Path, sort: str, start: int) -> None:
    for number in range(start, start + 5):
        _names_what_is_odd(tmp_path / str(number), sort, number)
