"""The state in real buckets: S3 on moto's server and Azure on Azurite, each behind a proxy that goes wrong, and what is sent to Google."""

from __future__ import annotations

import sys
import threading
import tomllib
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pytest

from reconciler.errors import Locked, StateError
from reconciler.state import IntentEnding, StateScope, Store
from reconciler.text.install import installing
from tests.proofs import proof
from tests.state import azure, s3
from tests.state.examples import CLOCK, GUIDES, SERVICE, WHO, binding, intent

SCOPE = StateScope("handbook", None, SERVICE)


PREFIXES = {"s3_proxy": f"s3://{s3.BUCKET}", "azure_proxy": f"az://{azure.CONTAINER}"}


@pytest.fixture(params=PREFIXES)
def url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty state on each service in turn."""
    return f"{PREFIXES[request.param]}/{uuid4()}"


@pytest.fixture
def proxy(url: str, request: pytest.FixtureRequest) -> Iterator[s3.Proxy]:
    """What stands before the service."""
    found: s3.Proxy = request.getfixturevalue("azure_proxy" if url.startswith("az:") else "s3_proxy")
    found.calm()
    found.requests.clear()
    yield found
    found.calm()


def opened(url: str, *, create: bool = True) -> Store:
    return Store.open(url, SCOPE, clock=CLOCK, create=create)


def whole_life(url: str) -> None:
    """A run, another one that is locked out, a reader, and a run that goes on with what the first left."""
    with opened(url) as mine, mine.lease(**WHO) as journal:
        (sent,) = journal.intend([intent()])
        with opened(url) as other, pytest.raises(Locked, match="ada@desk has been running"), other.lease(**WHO):
            pytest.fail("two leases at once")
        with opened(url, create=False) as reader:
            assert [found.id for found in reader.read().intents] == [sent.id]
            assert reader.condition().held
        journal.settle([IntentEnding(sent.id, "done", bind=(binding(),))])
        journal.finish(exit_code=0, summary={})
    with opened(url) as mine, mine.lease(**WHO) as journal:
        assert set(journal.state().bindings) == {GUIDES}
    with opened(url, create=False) as reader:
        assert not reader.condition().held
        assert {"create": 1} in [run.did for run in reader.runs()]


@pytest.mark.parametrize(
    ("url", "way"),
    [
        *(("s3_proxy", way) for way in ("", *s3.WAYS)),
        ("azure_proxy", "no answer, done"),
        *(pytest.param("azure_proxy", way, marks=proof) for way in ("", *s3.WAYS) if way != "no answer, done"),
    ],
    indirect=["url"],
)
def test_a_run_in_a_bucket_is_the_same_whatever_goes_wrong_with_its_requests(url: str, proxy: s3.Proxy, way: str) -> None:
    with opened(url) as mine, mine.lease(**WHO) as journal:
        before = len(proxy.requests)
        if way == "stale list":
            proxy.ways, proxy.rate = (way,), 1.0
        else:
            proxy.next = [way]
        (sent,) = journal.intend([intent()])
        used = len(proxy.requests) - before
        journal.settle([IntentEnding(sent.id, "done", bind=(binding(),))])
        with opened(url, create=False) as reader:
            assert set(reader.read().bindings) == {GUIDES}
            assert [run.did for run in reader.runs()] == [{"create": 1}]
    assert used <= {"": 1, "slow": 1, "stale list": 1}.get(way, 4)  # what is lost is read back; the library repeats nothing
    proxy.ways = s3.WAYS


def test_a_life_in_a_bucket_asks_for_one_list_and_only_of_its_own_prefix(url: str, proxy: s3.Proxy) -> None:
    whole_life(url)
    (listed,) = [path for _, path in proxy.requests if any(word in path for word in s3.LISTS)]
    assert f"prefix={url.rpartition('/')[2]}%2F" in listed


def test_a_bucket_that_does_not_exist_is_not_an_empty_state(url: str, proxy: s3.Proxy) -> None:
    nobodys, variables = ("az://nobodys/p", "AZURE_…") if url.startswith("az:") else ("s3://nobodys/p", "AWS_…")
    for create in (False, True):
        with pytest.raises(StateError, match=f"the bucket of the state {nobodys} does not exist, or cannot be listed") as caught:
            opened(nobodys, create=create)
        assert variables in str(caught.value.hint)


def test_what_is_denied_says_what_must_be_allowed(url: str, proxy: s3.Proxy) -> None:
    opened(url).close()
    proxy.next = ["denied"]
    with pytest.raises(StateError, match="denies access") as caught, opened(url) as mine, mine.lease(**WHO):
        pytest.fail("allowed")
    assert "get and create objects" in str(caught.value.hint)
    assert "clock of this machine" in str(caught.value.hint)


def test_without_obstore_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(StateError, match="requires obstore") as caught:
        opened("s3://bucket/p")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"{installing(*project['optional-dependencies']['bucket'])}. It is the extra `bucket`: " in str(caught.value.hint)
    assert "'.[bucket]' (in a clone of Reconciler)" in str(caught.value.hint)  # nobody has registered the name of the distribution


# -- Google -----------------------------------------------------------------------------------------------------------------------------


class _Google(BaseHTTPRequestHandler):
    """As much of Google's XML API as its documents promise: objects, and a generation that must not exist yet."""

    objects: dict[str, bytes]
    seen: list[tuple[str, str, str | None]]

    def log_message(self, *given: Any) -> None:
        return

    def _handle(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, generation = unquote(self.path.partition("?")[0]), self.headers.get("x-goog-if-generation-match")
        self.seen.append((self.command, path, generation))
        assert self.headers["Authorization"] == "Bearer token-of-the-tests"
        status, answer = 200, b""
        if self.command == "PUT":
            if generation == "0" and path in self.objects:
                status = 412
            else:
                self.objects[path] = content
        elif "list-type" in self.path:
            answer = s3.EMPTY
        elif path not in self.objects:
            status = 404
        else:
            answer = self.objects[path]
        self.send_response(status)
        for name, value in {"ETag": '"1"', "x-goog-generation": "1", "Last-Modified": formatdate(usegmt=True)}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_PUT = do_HEAD = _handle  # noqa: N815


def test_what_is_sent_to_google_creates_each_object_of_the_chain_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = type("Handler", (_Google,), {"objects": {}, "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        for name, value in {
            "GOOGLE_BASE_URL": f"http://127.0.0.1:{server.server_port}", "GOOGLE_ALLOW_HTTP": "true",
            "GOOGLE_BEARER_TOKEN": "token-of-the-tests",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        try:
            whole_life("gs://states/handbook")
        finally:
            server.shutdown()
            thread.join()
    chain = [(path, generation) for method, path, generation in handler.seen if method == "PUT" and "/journal/" in path]
    assert chain
    assert {generation for _, generation in chain} == {"0"}
