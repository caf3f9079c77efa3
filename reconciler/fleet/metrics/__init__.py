"""A fleet's rows as Prometheus metrics. They contain the names of tenants and no other names.

PostgreSQL counts everything at the time of the request, so any process can answer, and a restart loses nothing. There are as many series as
tenants, up to a limit; series of projects only on request.
"""

from __future__ import annotations

from reconciler.fleet.metrics.collected import CONTENT_TYPE, metrics_text

__all__ = ["CONTENT_TYPE", "metrics_text"]
