"""From a request to the bytes of its answer, without a network. Answers to GET are kept until something is written."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

from benchmarks.service.http import Encoded
from benchmarks.service.memory import Memory, NoSuchObject, Object
from benchmarks.service.reads import Listed, read
from benchmarks.service.views import View
from benchmarks.service.writes import write

PAGE = 100  # items of a page where no limit is given
PAGE_MAX = 1000


def encode(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()


class Service:
    """Answers requests. `counts`: those that were counted, by method; `seen`: the GETs among them."""

    def __init__(self, fill: Callable[[], Memory], base: str) -> None:
        self.fill, self.base = fill, base
        self.reset()

    def reset(self) -> None:
        """Begin from what the service had at first."""
        self.memory = self.fill()
        self.view = View(self.memory, self.base)
        self._kept: dict[str, Encoded] = {}
        self._kept_at = self.memory.version
        self.restart()

    def restart(self) -> None:
        """Count from nothing."""
        self.counts: Counter[str] = Counter()
        self.seen: list[str] = []

    def answer(self, method: str, target: str, body: bytes) -> Encoded:
        """The status and the body for a request under `/v1`."""
        self.counts[method] += 1
        path, _, query = target.partition("?")
        parts = tuple(path.removeprefix("/v1/").split("/"))
        try:
            if method == "GET":
                self.seen.append(target)
                return self._read(target, parts, query)
            status, kind, data = write(self.memory, method, parts, json.loads(body) if body else {})
            return status, b"" if data is None else encode(self.view.show(kind, data))
        except NoSuchObject as error:
            return 404, encode({"error": {"code": 404, "message": str(error.args[0])}})

    def _read(self, target: str, parts: tuple[str, ...], query: str) -> Encoded:
        if self._kept_at != self.memory.version:
            self._kept, self._kept_at = {}, self.memory.version
        if target not in self._kept:
            self._kept[target] = (200, encode(self._shown(read(self.memory, parts), query)))
        return self._kept[target]

    def _shown(self, result: Listed | tuple[str, Object], query: str) -> Any:
        if not isinstance(result, Listed):
            kind, data = result
            return data if kind == "pages" else self.view.show(kind, data)
        given = {name: values[0] for name, values in parse_qs(query).items()}
        start = int(base64.urlsafe_b64decode(given["page"]).decode().removeprefix("from:")) if "page" in given else 0
        limit = min(int(given.get("limit", PAGE)), PAGE_MAX)
        shown: Object = {"items": [self.view.show(kind, data) for kind, data in result[start : start + limit]], "count": len(result)}
        if start + limit < len(result):
            shown = {"next": {"page": base64.urlsafe_b64encode(f"from:{start + limit}".encode()).decode()}, **shown}
        return shown
