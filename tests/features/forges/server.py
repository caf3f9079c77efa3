"""The port of a fake: routes, users, tokens, faults, and a list of what was asked."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

CUT: Final = "cut"
"""As a fault's `then`: the connection ends without an answer."""


@dataclass
class User:
    """Somebody who has a token. `reads`, `writes`: whether the token may."""

    id: int
    login: str
    bot: bool = False
    reads: bool = True
    writes: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Answer:
    """A status, headers and a body that becomes JSON; text and bytes stay."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Refused(Exception):
    """Raised by a handler: the request has no effect and gets this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


@dataclass
class Comment:
    """What somebody wrote below a pull request. `minimized`: why GitHub folds it. `deleted`: Bitbucket keeps it in its lists."""

    id: int
    author: User
    body: str
    created: str = field(default_factory=lambda: now())
    updated: str = field(default_factory=lambda: now())
    minimized: str | None = None
    deleted: bool = False


@dataclass
class Pull:
    """A pull request. `reactions`: emoji. `actions`: quick actions that a comment has carried out on GitLab, such as /close."""

    repository: str
    number: int
    project: int = 12  # its number on GitLab
    comments: list[Comment] = field(default_factory=list)
    reactions: list[dict[str, Any]] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sent:
    """A request as it arrived. `data`: of its body, from JSON or a form. `status`: of the answer, None where none was given."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    data: Any
    status: int | None = None


@dataclass(frozen=True)
class Fault:
    """What happens to a request. `then`: the answer instead of the real one, or `CUT`. `carried_out`: it has its effect all the same.
    `before`, `after`: seconds until it has its effect, and from there to the answer."""

    then: Answer | str | None = None
    carried_out: bool = False
    before: float = 0.0
    after: float = 0.0


Handler = Callable[..., Answer]


class Forge:
    """One service. `fault`: what happens to a request; None: nothing special. `sent`: every request, in the order of the answers."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        self.sent: list[Sent] = []
        self.fault: Callable[[Sent], Fault | None] = lambda _: None
        self.lock = threading.RLock()
        self.pulls: dict[tuple[str, int], Pull] = {}
        self._routes: list[tuple[str, re.Pattern[str], Handler]] = []
        self._ids = itertools.count(1_001)

    # -- to be used by tests -----------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        forge = self

        class Requests(_Requests):
            service = forge

        self._server = _Server(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def route(self, method: str, path: str, handler: Handler) -> None:
        """Answer a request; `path` has `{name}` for a segment, which the handler gets decoded after the user and the request."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
        self._routes.append((method, re.compile(pattern), handler))

    def deep(self, method: str, path: str, handler: Handler) -> None:
        """The same for a path that goes on with the name of a branch or a file, which the handler gets as its last argument."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
        names = {"last": "branch", "moved": "branch", "text": "place"}
        self._routes.append((method, re.compile(f"{pattern}(?P<{names[handler.__name__]}>.+)"), handler))

    def add(self, token: str, user: User) -> str:
        """A token of somebody."""
        self.users[token] = user
        return token

    def pull(self, repository: str = "acme/handbook", number: int = 7) -> Pull:
        """A pull request."""
        return self.pulls.setdefault((repository.lower(), number), Pull(repository, number))

    def says(self, pull: Pull, login: str, body: str) -> Comment:
        """A comment that somebody wrote."""
        author = next((user for user in self.users.values() if user.login == login), None) or User(self.new_id(), login)
        with self.lock:
            pull.comments.append(Comment(self.new_id(), author, body))
            return pull.comments[-1]

    def new_id(self) -> int:
        return next(self._ids)

    def count(self, method: str, part: str = "") -> int:
        """How many requests with this method had this in their path."""
        return sum(sent.method == method and part in sent.path for sent in self.sent)

    # -- to be said by each service ----------------------------------------------------------------------------------------------------

    def user(self, sent: Sent) -> User:
        """Whose token it is. Raises `Refused`."""
        raise NotImplementedError

    def missing(self) -> Answer:
        """What is said of a path that does not exist."""
        raise NotImplementedError

    def headers(self, sent: Sent) -> dict[str, str]:
        """What stands in the head of every answer."""
        return {}

    # -- answering ---------------------------------------------------------------------------------------------------------------------

    def answer(self, sent: Sent) -> Answer | None:
        """None where the connection ends without one."""
        fault = self.fault(sent)
        if fault is None:
            return self._carried_out(sent)
        time.sleep(fault.before)
        real = self._carried_out(sent) if fault.carried_out or fault.then is None else None
        time.sleep(fault.after)
        return real if fault.then is None else fault.then if isinstance(fault.then, Answer) else None

    def _carried_out(self, sent: Sent) -> Answer:
        with self.lock:
            try:
                user = self.user(sent)
                for method, pattern, handler in self._routes:
                    match = pattern.fullmatch(sent.path)
                    if match and method == sent.method:
                        return handler(user, sent, **{name: unquote(value) for name, value in match.groupdict().items()})
            except Refused as refused:
                return refused.answer
            return self.missing()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is not worth a line."""


class _Requests(BaseHTTPRequestHandler):
    service: Forge
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        sent = Sent(self.command, url.path, query, headers, _decoded(body, headers.get("content-type", "")))
        answer = self.service.answer(sent)
        if answer is None:
            self.close_connection = True
        with self.service.lock:
            self.service.sent.append(Sent(sent.method, sent.path, query, headers, sent.data, answer.status if answer is not None else None))
        if answer is not None:
            self._write(answer, {"Date": formatdate(usegmt=True), **self.service.headers(sent), **answer.headers})

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _write(self, answer: Answer, headers: dict[str, str]) -> None:
        body = answer.body
        text = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        text = b"" if body is None and answer.status == 204 else text
        self.send_response_only(answer.status)
        headers.setdefault("Content-Type", "application/json; charset=utf-8" if not isinstance(body, str | bytes) else "text/plain")
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


def _decoded(body: bytes, kind: str) -> Any:
    if not body:
        return {}
    if "json" in kind:
        return json.loads(body)
    return {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True).items()}


def now() -> str:
    """`2026-11-23T08:00:00Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page(values: list[Any], number: int, size: int) -> tuple[list[Any], int]:
    """One page from 1, and how many there are."""
    return values[(number - 1) * size : number * size], max(1, -(-len(values) // size))
