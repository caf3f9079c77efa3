"""An S3 server of the tests' own, moto's in a process, and before it a proxy that handles one request at a time and goes wrong.

`tests/state/azure.py` puts the same proxy before an emulator of Azure."""

from __future__ import annotations

import http.client
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import pytest

from tests.state.server import REQUIRE

BUCKET = "states"
WAYS = ("error before", "error after", "no answer, not done", "no answer, done", "done later", "slow", "stale list")
SLOW = 0.05  # seconds
LISTS = ("list-type", "comp=list")  # in the queries of both services
EMPTY = b'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>0</KeyCount></ListBucketResult>'
NO_BLOBS = b'<?xml version="1.0"?><EnumerationResults><Blobs/><NextMarker/></EnumerationResults>'
ANYBODY = (
    "AWS4-HMAC-SHA256 Credential=tests/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"  # which moto does not verify
)

CREATED = (200, 201)  # what S3 answers, and Azure

Answer = tuple[int, dict[str, str], bytes]


def missing() -> None:
    """Skip, unless the tests of S3 are required."""
    absent = [name for name in ("moto", "obstore") if find_spec(name) is None]
    if absent:
        reason = f"{' and '.join(absent)} cannot be imported: install the extra `dev`"
        if "s3" in os.environ.get(REQUIRE, "").split(","):
            pytest.fail(f"{REQUIRE} asks for S3, but {reason}")
        pytest.skip(reason)


class Proxy:
    """`url`: where it listens. `rate`: how often a request goes wrong; `ways`: how; `counted`: what did. `requests`: all."""

    def __init__(self, server: int) -> None:
        self.server = server
        self.rate = 0.0
        self.ways: tuple[str, ...] = WAYS
        self.chance = random.Random(0)
        self.counted: Counter[str] = Counter()
        self.requests: list[tuple[str, str]] = []
        self.next: list[str] = []  # what becomes of the next writes: a way, or "" for nothing
        self.reads_only = False  # whether it denies every write, as to a role that may only get and list objects
        self.lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._listening = _Server(("127.0.0.1", 0), handler)
        self._listening.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._listening.server_port}"
        self._thread = threading.Thread(target=self._listening.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self.rate, self.next, self.reads_only = 0.0, [], False

    def way(self, method: str, path: str) -> str:
        """What becomes of a request."""
        if self.reads_only and method not in ("GET", "HEAD"):
            return "denied"
        if method == "PUT" and self.next:
            return self.next.pop(0)
        if self.chance.random() >= self.rate:
            return ""
        way = self.chance.choice(self.ways)
        return way if any(word in path for word in LISTS) == (way == "stale list") or way == "slow" else ""

    def close(self) -> None:
        self._listening.shutdown()
        self._listening.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *given: Any) -> None:
        return  # whoever is killed leaves its connection


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def log_message(self, *given: Any) -> None:
        return

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.proxy.lock:
            self.proxy.requests.append((self.command, self.path))
            way = self.proxy.way(self.command, self.path)
            self.proxy.counted.update([way] if way else [])
            answer = self._answer_of(way, body)
        if answer is None:
            self._cut()
        else:
            self._answer(*answer)

    def _answer_of(self, way: str, body: bytes) -> Answer | None:
        """None where there is none."""
        if way == "error before":
            return 503, {}, b""
        if way == "denied":
            return 403, {}, b""
        if way == "no answer, not done":
            return None
        if way == "done later":
            threading.Timer(SLOW, self._forward, (body,)).start()
            return None
        if way == "slow":
            time.sleep(SLOW)
        if way == "stale list":
            return 200, {"Content-Type": "application/xml"}, NO_BLOBS if LISTS[1] in self.path else EMPTY
        answer = self._forward(body)
        if way == "error after":
            return 500, {}, b""
        return None if way == "no answer, done" else answer

    def _forward(self, body: bytes) -> Answer:
        with closing(http.client.HTTPConnection("127.0.0.1", self.proxy.server, timeout=30)) as connection:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("connection", "transfer-encoding")}
            connection.request(self.command, self.path, body=body or None, headers=headers)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        with suppress(ConnectionError):
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    self.send_header(name, value)
            length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass  # noqa: N815


class Plain:
    """The same objects over plain HTTP, past the proxy: moto verifies no signature, and no library of ours is in between."""

    def __init__(self, server: int, prefix: str) -> None:
        self._server = server
        self._prefix = f"/{BUCKET}/{prefix}"

    def get(self, name: str) -> bytes | None:
        status, _, content = self.send("GET", name)
        return content if status == 200 else None

    def create(self, name: str, content: bytes) -> bool:
        return self.send("PUT", name, content, {"If-None-Match": "*"})[0] in CREATED

    def put(self, name: str, content: bytes) -> None:
        assert self.send("PUT", name, content)[0] in CREATED

    def modified(self, name: str) -> float:
        return parsedate_to_datetime(self.send("HEAD", name)[1]["last-modified"]).timestamp()

    def check(self) -> None:
        return

    def delete(self, name: str) -> None:
        self.send("DELETE", name)

    def headers(self, method: str, path: str, content: bytes | None, given: Mapping[str, str]) -> dict[str, str]:
        return {"Authorization": ANYBODY, **given}

    def send(
        self, method: str, name: str, content: bytes | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, dict[str, str], bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self._server, timeout=30)) as connection:
            path = quote(f"{self._prefix}/{name}")
            connection.request(method, path, body=content, headers=self.headers(method, path, content, headers))
            answer = connection.getresponse()
            assert answer.status in (200, 201, 202, 204, 404, 409, 412), answer.status
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()


@contextmanager
def running() -> Iterator[Proxy]:
    """The proxy before a server with one empty bucket; variables of the environment let the program find it."""
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p"]
    with serving(lambda port: [*command, str(port)], f"/{BUCKET}", dict, variables) as proxy:
        yield proxy


@contextmanager
def serving(
    command: Callable[[int], list[str]], bucket: str, headers: Callable[[], dict[str, str]], told: Callable[[str], dict[str, str]]
) -> Iterator[Proxy]:
    """The proxy before what `command` starts on a port. `bucket`: what creates the bucket is sent there; `told`: variables, by the URL."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(command(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        proxy = Proxy(port)
        try:
            _wait(server, port, bucket, headers)
            with pytest.MonkeyPatch.context() as patch:
                for name, value in told(proxy.url).items():
                    patch.setenv(name, value)
                yield proxy
        finally:
            proxy.close()
            server.kill()


def variables(url: str) -> dict[str, str]:
    """What the program must be told to take it for S3."""
    keys = {"AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests", "AWS_REGION": "us-east-1"}
    return {**keys, "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true"}


def _wait(server: subprocess.Popen[bytes], port: int, bucket: str, headers: Callable[[], dict[str, str]]) -> None:
    for _ in range(600):
        assert server.poll() is None, "the server of buckets ended at once"
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                connection.request("PUT", bucket, headers=headers())
                assert connection.getresponse().status in CREATED
                return
        except OSError:
            with suppress(subprocess.TimeoutExpired):
                server.wait(0.05)
    pytest.fail("the server of buckets did not become ready")
