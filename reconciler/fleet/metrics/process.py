"""Metrics of one worker's process: its runs and requests since its start, its memory and its time."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, start_http_server

LOOPBACK: Final = "127.0.0.1"
_RUNS: Final = Counter("reconciler_worker_runs", "Runs that this worker ended.", ["ended"])
_REQUESTS: Final = Counter("reconciler_worker_requests", "Requests of these runs.")


def count(ended: str, requests: int) -> None:
    """Count the end of a run."""
    _RUNS.labels(ended).inc()
    _REQUESTS.inc(requests)


def serve(port: int) -> None:
    """Answer requests from this machine until the process ends. Raises `OSError`."""
    start_http_server(port, LOOPBACK)
