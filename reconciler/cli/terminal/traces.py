"""Traces of OpenTelemetry: a span for the run, for each step and for each request; imported only where an endpoint is set.

In: the events of the narration. Out: spans, sent by a thread of their own. A slow or missing collector does not affect a run:
its spans are dropped, and the program ends at most `FLUSH` seconds later. Spans contain addresses, paths and status codes, never a value.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final

import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from reconciler import __version__
from reconciler.model import Step, StepResult

FLUSH: Final = 1.0  # seconds for the last spans
LOOK: Final = 0.01  # seconds between two looks whether they are sent
QUEUE: Final = 50_000  # spans that wait to be sent
PARENT: Final = "TRACEPARENT"  # of whoever started the program
WELL: Final = frozenset({0, 2})  # exit codes that are no failure

_STEP: Final[ContextVar[Span | None]] = ContextVar("span", default=None)
"""The span of the step that a task carries out."""

Attributes = Mapping[str, Any]


class Traces:
    """The spans of one program. `hide`: masks a text. `began`: the time of the start, in nanoseconds since 1970."""

    def __init__(self, command: str, began: int, hide: Callable[[Any], Any]) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)  # what it has to say is said once, at the end
        self._hide = hide
        # The exporter retries in silence for a minute. Only its session tells whether the collector answers at all.
        session = requests.Session()
        session.request = self._noted(session.request)  # type: ignore[method-assign]
        self._failed = False
        self._exporter = _Counting(OTLPSpanExporter(session=session))
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or "reconciler", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter, max_queue_size=QUEUE))
        self._tracer = self._provider.get_tracer("reconciler", __version__)
        outer = TraceContextTextMapPropagator().extract({"traceparent": os.environ.get(PARENT, "")})
        self._run = self._tracer.start_span(command, outer, attributes={"reconciler.command": command}, start_time=began)
        self._inside = trace.set_span_in_context(self._run)
        self._steps: dict[int, Span] = {}
        self._requests: dict[int, Span] = {}

    def _noted(self, send: Callable[..., Any]) -> Callable[..., Any]:
        """Sends to the collector, and records whether that failed, so that the end of the program does not wait."""

        def noted(*args: Any, **more: Any) -> Any:
            try:
                answer = send(*args, **more)
            except Exception:
                self._failed = True
                raise
            self._failed = not answer.ok
            return answer

        return noted

    def step_began(self, step: Step) -> None:
        """Begin the span of a step, in the task that sends its requests."""
        about = {"address": str(step.address), "verb": step.verb, "kind": step.kind, "step": step.id}
        span = self._tracer.start_span(
            f"{step.verb} {step.kind}",
            self._inside,
            attributes=self._hide({f"reconciler.{name}": value for name, value in about.items()}),
        )
        self._steps[step.id] = span
        _STEP.set(span)

    def step_ended(self, result: StepResult) -> None:
        """End the span of a step; a step that never began has none."""
        span = self._steps.pop(result.step.id, None)
        if span is not None:
            span.set_attribute("reconciler.status", result.status.value)
            if result.status.value != "done":
                span.set_status(Status(StatusCode.ERROR))
            span.end()

    def request_began(self, number: int, method: str, path: str, attempt: int, about: Attributes) -> None:
        """Begin the span of a request. `about`: the service, and the step of the request."""
        step = _STEP.get()
        inside = trace.set_span_in_context(step) if step is not None else self._inside
        again = {"http.request.resend_count": attempt - 1} if attempt > 1 else {}
        url = f"{about.get('url.full', '')}/v1{path}"
        attributes = {**about, "http.request.method": method, "url.full": url, "reconciler.attempt": attempt, **again}
        self._requests[number] = self._tracer.start_span(method, inside, SpanKind.CLIENT, attributes=self._hide(attributes))

    def request_ended(self, number: int, status: int | None) -> None:
        """End the span of a request. `status`: None without an answer."""
        span = self._requests.pop(number, None)
        if span is None:
            return
        if status is not None:
            span.set_attribute("http.response.status_code", status)
        if status is None or status >= 400:
            span.set_attribute("error.type", "_OTHER" if status is None else str(status))
            span.set_status(Status(StatusCode.ERROR))
        span.end()

    def end(self, code: int, about: Attributes) -> str | None:
        """End every span and send the rest. Returns why not everything could be sent, or None."""
        for span in (*self._requests.values(), *self._steps.values()):
            span.set_status(Status(StatusCode.ERROR))
            span.end()
        self._run.set_attributes({**self._hide(dict(about)), "reconciler.exit_code": code})
        if code not in WELL:
            self._run.set_status(Status(StatusCode.ERROR))
        self._run.end()
        # The provider has no timeout that includes its retries, so it ends in a thread that nobody has to wait for.
        ending = threading.Thread(target=self._provider.shutdown, daemon=True, name="traces")
        ending.start()
        until = time.monotonic() + FLUSH
        while ending.is_alive() and not self._failed and time.monotonic() < until:
            ending.join(LOOK)
        if self._failed or ending.is_alive():
            self._exporter.shutdown()  # no more attempts
            return (
                "the collector cannot be reached, or refuses them" if self._failed else f"the collector did not answer within {FLUSH:g} s"
            )
        return f"the collector did not accept {self._exporter.lost:,} spans" if self._exporter.lost else None


class _Counting(SpanExporter):
    """Counts the spans that could not be sent."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        self.lost += len(spans) if result is not SpanExportResult.SUCCESS else 0
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()
