"""Traces of OpenTelemetry, read by a collector on a real port that decodes what it is sent."""

from __future__ import annotations

import gzip
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.cli.test_imports import COMMAND, imported
from tests.command_line import Cli, applied_project, initialised
from tests.proofs import costly

if "otel" in os.environ.get("RECONCILER_TEST_REQUIRE", "").split(","):
    import opentelemetry.proto.collector.trace.v1.trace_service_pb2 as service
else:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="the extra otel is not installed")

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
KEY = "k3y-of-the-collector"


@contextmanager
def collector(*, status: int = 200) -> Iterator[tuple[str, list[Any], list[str]]]:
    """The URL of a collector, the spans that it was sent, and the raw bodies."""
    spans: list[Any] = []
    bodies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = service.ExportTraceServiceRequest()
            request.ParseFromString(body)
            spans.extend(span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans)
            bodies.append(body.decode("latin-1") + self.path + str(self.headers["Authorization"]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans, bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def values(span: Any) -> dict[str, Any]:
    """The attributes of a span."""
    return {pair.key: pair.value.int_value if pair.value.HasField("int_value") else pair.value.string_value for pair in span.attributes}


def test_a_run_a_step_and_a_request_are_spans_within_each_other_and_carry_no_title_and_no_secret(cli: Cli) -> None:
    applied_project(cli)
    cli.edit("p/reconciler.yaml", "title: Writers", "title: Hush-hush authors")
    with collector() as (url, spans, bodies):
        outer = f"00-{'ab' * 16}-{'cd' * 8}-01"
        env = {ENDPOINT: url, "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {KEY}", "TRACEPARENT": outer}
        done = cli("apply", "p", "-y", "-v", env=env)
    assert done.exit_code == 0
    assert KEY not in done.stderr
    assert "traces" not in done.stderr
    assert KEY in bodies[0]
    (run,) = [span for span in spans if span.name == "reconciler apply"]
    assert (run.trace_id.hex(), run.parent_span_id.hex()) == ("ab" * 16, "cd" * 8)
    assert values(run) == {"reconciler.command": "reconciler apply", "reconciler.project": "p", "reconciler.exit_code": 0}
    (step,) = [span for span in spans if span.name == "update team"]
    assert step.parent_span_id == run.span_id
    about = values(step)
    assert (about["reconciler.address"], about["reconciler.verb"], about["reconciler.status"]) == ("acme/team/writers", "update", "done")
    (write,) = [span for span in spans if span.name not in ("GET", step.name, run.name)]
    assert write.parent_span_id == step.span_id
    sent = values(write)
    assert write.name == sent["http.request.method"]
    assert (sent["http.response.status_code"], sent["reconciler.attempt"], sent["server.address"]) == (200, 1, "127.0.0.1")
    assert sent["url.full"].startswith(f"http://127.0.0.1:{sent['server.port']}/v1/orgs/org_acme/teams/")
    assert (sent["reconciler.address"], sent["reconciler.verb"]) == ("acme/team/writers", "update")
    assert {span.parent_span_id for span in [span for span in spans if span.name == "GET"]} <= {run.span_id, step.span_id}
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano >= run.start_time_unix_nano for span in spans)
    assert "Hush-hush" not in "".join(bodies)


def test_a_collector_that_is_broken_slow_or_away_neither_fails_nor_holds_up_a_run(cli: Cli) -> None:
    initialised(cli)
    with socket.create_server(("127.0.0.1", 0)) as silent, collector(status=503) as (broken, _, _):
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for url, says in {broken: "cannot be reached, or refuses them", address: "did not answer within 1 s"}.items():
            done = cli("plan", "p", env={ENDPOINT: url}, code=0)
            assert done.stderr.count("Not all traces were delivered") == 1
            assert says in done.stderr
            assert "Traceback" not in done.stderr
    assert "the collector cannot be reached" in cli("plan", "p", env={ENDPOINT: address}).stderr


@costly
def test_the_extra_is_not_imported_unless_there_is_an_endpoint_and_its_absence_is_said_once(cli: Cli) -> None:
    initialised(cli)
    project = str(cli.root / "p")
    ours = (
        "opentelemetry.sdk",
        "opentelemetry.exporter",
        "reconciler.cli.terminal.traces",
    )  # the sandbox's library imports some of the rest
    assert not [name for name in imported(COMMAND, project, "plan") if name.startswith(ours)]
    for off in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}):
        assert "traces" not in cli("plan", "p", env={ENDPOINT: "http://127.0.0.1:9", **off}).stderr
    grpc = cli("plan", "p", env={ENDPOINT: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert grpc.stderr.count("traces are sent as http/protobuf only, and the protocol is grpc. No traces are sent.") == 1
