"""What the server of `tests.processes` imports and computes once, before it forks."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import tempfile
from pathlib import Path

import reconciler
from reconciler.config.resources.shapes import shapes
from reconciler.kinds import load
from reconciler.sandbox.app import create_app

for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
shapes(load())
with tempfile.TemporaryDirectory() as folder:
    app = create_app(Path(folder) / "sandbox.db")
    app.openapi()  # FastAPI examines every endpoint for it
    app.state.service.store.close()
gc.collect()
gc.freeze()
