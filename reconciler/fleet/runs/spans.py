"""Traces of OpenTelemetry: a span for each run of a fleet, which the spans of its process are inside; imported where an endpoint is set.

A slow or unreachable collector does not affect a run: its spans are dropped.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from reconciler import __version__
from reconciler.fleet.store.runs import BegunRun

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PASSED: Final = "OTEL_"  # variables with this prefix are passed to the process of a run
PARENT: Final = "TRACEPARENT"
FLUSH: Final = 1_000  # milliseconds for the last spans


def is_wanted() -> bool:
    """Whether an endpoint is set, nothing switches traces off, and the extra `otel` is installed."""
    off = os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or os.environ.get("OTEL_TRACES_EXPORTER") == "none"
    return not off and any(os.environ.get(name) for name in ENDPOINTS) and find_spec("opentelemetry.exporter") is not None


@contextmanager
def span(begun: BegunRun) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """The span of a run: variables for its process, and a map to which attributes are added. Both empty without traces."""
    ends: dict[str, Any] = {}
    if not is_wanted():
        yield {}, ends
        return
    from opentelemetry.trace import Status, StatusCode, set_span_in_context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    about = {
        "reconciler.fleet.run": begun.id,
        "reconciler.fleet.run.number": begun.number,
        "reconciler.fleet.project": begun.project.name,
        "reconciler.fleet.tenant": begun.project.tenant,
    }
    started = _provider().get_tracer("reconciler", __version__).start_span("fleet run", attributes=about)
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(started))
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED)}
    try:
        yield {**passed, PARENT: carrier["traceparent"]}, ends
    finally:
        started.set_attributes({f"reconciler.fleet.{name}": value for name, value in ends.items() if value is not None})
        if ends.get("ended") != "done":
            started.set_status(Status(StatusCode.ERROR))
        started.end()


@cache
def _provider() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME") or "reconciler", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def flush() -> None:
    """Send the remaining spans, for a second at most."""
    if _provider.cache_info().currsize:
        _provider().force_flush(FLUSH)
