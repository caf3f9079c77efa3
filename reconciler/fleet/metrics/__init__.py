"""What monitors read of a fleet: its rows as Prometheus metrics. Whoever may read them sees the names of tenants, and no other ones.

Everything is counted by PostgreSQL at the moment of the question, so any process can answer, and a restart loses nothing. There are as many
series as tenants, up to a limit; those of projects only where somebody asks for them.
"""

from __future__ import annotations

from reconciler.fleet.metrics.collected import CONTENT_TYPE, metrics_text

__all__ = ["CONTENT_TYPE", "metrics_text"]
