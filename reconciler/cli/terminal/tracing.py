"""The configuration of traces, from the variables of OpenTelemetry, and what a run tells them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from reconciler.text.install import installing_extra
from reconciler.text.masks import Masks
from reconciler.text.redact import of_urls

if TYPE_CHECKING:  # needs the extra otel
    from reconciler.cli.terminal.traces import Traces

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")  # of a collector of traces
HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL: Final = "http/protobuf"


def is_wanted() -> bool:
    """Whether a collector is configured, and no variable switches traces off."""
    if not any(os.environ.get(name) for name in ENDPOINTS):
        return False
    return os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true" and os.environ.get("OTEL_TRACES_EXPORTER") != "none"


def begin(command: str, began: int, masks: Masks, warn: Callable[..., None]) -> Traces | None:
    """The traces of this program; None, with a warning, if they cannot be sent. `began`: the start, in nanoseconds since 1970.
    `warn`: prints a warning with the id of its cause."""
    masks.hide([*_header_values(), *of_urls([os.environ[name] for name in ENDPOINTS if os.environ.get(name)])])
    endpoint = next(name for name in ENDPOINTS if os.environ.get(name))
    protocol = next((os.environ[name] for name in PROTOCOLS if os.environ.get(name)), PROTOCOL)
    if protocol != PROTOCOL:
        warn(
            f"{endpoint} is set, but traces are sent as {PROTOCOL} only, and the protocol is {protocol}. No traces are sent.",
            id="RC-traces-not-sent",
        )
        return None
    try:
        from reconciler.cli.terminal.traces import Traces  # needs the extra otel, whose libraries take longer to import than a small plan
    except ImportError:
        way = installing_extra("otel")
        warn(f"{endpoint} is set, but the extra otel is not installed. No traces are sent. To install it: {way}", id="RC-package-missing")
        return None
    try:
        return Traces(command, began, masks.data)
    except Exception as error:  # whatever a library makes of these variables, the run goes on
        warn(f"{endpoint} is set, but no traces are sent: {type(error).__name__}: {error}", id="RC-traces-not-sent")
        return None


def _header_values() -> Iterator[str]:
    """The values of `name=value,name=value`: often a key of the collector."""
    for variable in HEADERS:
        for pair in os.environ.get(variable, "").split(","):
            value = pair.partition("=")[2].strip()
            yield from (value, unquote(value))
