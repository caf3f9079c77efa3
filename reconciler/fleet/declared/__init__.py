"""fleet.yaml as projects and generators, every problem with its line."""

from __future__ import annotations

from reconciler.fleet.declared.file import parsed, read_fleet

__all__ = ["parsed", "read_fleet"]
