"""The configuration of traces, from the variables of OpenTelemetry. Imported if one of `ENDPOINTS` is set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from reconciler.text.install import installing_extra
from reconciler.text.redact import of_urls

if TYPE_CHECKING:
    from reconciler.cli.terminal.screen import Screen
    from reconciler.cli.terminal.traces import Traces

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")  # of a collector of traces
HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL: Final = "http/protobuf"


def is_wanted() -> bool:
    """Whether no variable switches traces off."""
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true" and os.environ.get("OTEL_TRACES_EXPORTER") != "none"


def begin(screen: Screen) -> Traces | None:
    """The traces of this program; None, with a warning, if they cannot be sent."""
    screen.hide([*_header_values(), *of_urls([os.environ[name] for name in ENDPOINTS if os.environ.get(name)])])
    endpoint = next(name for name in ENDPOINTS if os.environ.get(name))
    protocol = next((os.environ[name] for name in PROTOCOLS if os.environ.get(name)), PROTOCOL)
    if protocol != PROTOCOL:
        screen.warn(
            f"{endpoint} is set, but traces are sent as {PROTOCOL} only, and the protocol is {protocol}. No traces are sent.",
            id="RC-traces-not-sent",
        )
        return None
    try:
        from reconciler.cli.terminal.traces import Traces
    except ImportError:
        way = installing_extra("otel")
        screen.warn(
            f"{endpoint} is set, but the extra otel is not installed. No traces are sent. To install it: {way}", id="RC-package-missing"
        )
        return None
    try:
        return Traces(screen.command, screen.began, screen.masked_data)
    except Exception as error:  # whatever a library makes of these variables, the run goes on
        screen.warn(f"{endpoint} is set, but no traces are sent: {type(error).__name__}: {error}", id="RC-traces-not-sent")
        return None


def _header_values() -> Iterator[str]:
    """The values of `name=value,name=value`: often a key of the collector."""
    for variable in HEADERS:
        for pair in os.environ.get(variable, "").split(","):
            value = pair.partition("=")[2].strip()
            yield from (value, unquote(value))
