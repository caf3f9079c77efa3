"""A tour through all operations of the service: what it answers becomes the examples of the service's own document."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from reconciler.sandbox.app import create_app
from reconciler.sandbox.seed import seed
from reconciler.sandbox.store import Store

HERE = Path(__file__).parent
CLOCK = "2031-01-01T09:00:00Z"
BASE = "http://127.0.0.1"


@dataclass(frozen=True)
class Stop:
    """One call and its answer. `path` is the reference's, without the version; bodies are None where there were none."""

    method: str
    path: str
    request: Any
    status: int
    answer: Any

    @property
    def operation(self) -> str:
        return f"{self.method} {self.path}"


def tour() -> list[Stop]:
    """Every call in its order, on a service of its own whose clock stands still and whose ids are counted."""
    plan = yaml.safe_load((HERE / "tour.yaml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "sandbox.db"
        _stand_still(db)
        seed(db, plan["seed"])
        numbers = itertools.count(1)
        app = create_app(db, control_token="control", base=BASE, new_id=lambda prefix: f"{prefix}_{next(numbers)}")  # noqa: S106
        stops = asyncio.run(_calls(app, plan["calls"], dict(plan["known"])))
        app.state.service.store.close()
    return stops


def _stand_still(db: Path) -> None:
    store = Store(db)
    store.set_meta("clock", CLOCK)
    store.close()


async def _calls(app: Any, calls: list[list[Any]], known: dict[str, str]) -> list[Stop]:
    stops = []
    headers = {"Authorization": "Bearer t0p"}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=BASE, headers=headers) as client:
        for method, path, *more in calls:
            body = _filled(more[0], known) if more else None
            answer = await client.request(method, "/v1" + _filled(path, known), json=body)
            if not answer.is_success:
                raise RuntimeError(f"{method} {path} answers {answer.status_code}: {answer.text}")
            shown = json.loads(_tidy(answer.text)) if answer.content else None
            if len(more) > 1:
                known[more[1]] = _id(answer.json())
            stops.append(Stop(method, path.partition("?")[0], body, answer.status_code, shown))
    return stops


def _filled(value: Any, known: dict[str, str]) -> Any:
    """A value with the names in braces replaced by what they stand for."""
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda found: known[found[1]], value)
    if isinstance(value, dict):
        return {name: _filled(part, known) for name, part in value.items()}
    return [_filled(part, known) for part in value] if isinstance(value, list) else value


def _tidy(text: str) -> str:
    """What holds a secret of the file, which is another one each time, is named instead."""
    text = re.sub(r'("serviceVisitorClaims":\s*)"[^"]*"', r'\1"JWT"', text)
    return re.sub(r"(\?key=)[\w-]+", r"\1(hidden)", text)


def _id(answer: Any) -> str:
    """The id in an answer: its own, or that of the first item of a list."""
    first = answer["items"][0] if "items" in answer else answer
    return str(first.get("issue", first)["id"])


def examples() -> dict[str, Any]:
    """The first body and the first answer of each operation; a list shows its first two items."""
    found: dict[str, Any] = {}
    for stop in tour():
        answer = stop.answer
        if isinstance(answer, dict) and isinstance(answer.get("items"), list):
            answer = {**answer, "items": answer["items"][:2]}
        made = {"request": stop.request, "answer": answer}
        found.setdefault(stop.operation, {name: value for name, value in made.items() if value is not None})
    return found
