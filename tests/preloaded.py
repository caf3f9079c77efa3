"""What the server of `tests.processes` imports and computes once, before it forks."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pkgutil
import tempfile
import threading
from pathlib import Path

import reconciler
from reconciler.assembled import COMMANDS, main
from reconciler.cli.program import Program
from reconciler.config.resources.shapes import shapes
from reconciler.kinds import load
from reconciler.sandbox.app import create_app


def run(*words: str) -> None:
    """Run a command line in this process: what it computes on first use, its children need not compute again."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told, contextlib.suppress(SystemExit):
        main(list(words))
    if told.getvalue().startswith("error"):
        raise RuntimeError(told.getvalue())


def warm(folder: str) -> None:
    """A sandbox with an applied project, looked at by the commands that tests start most."""
    assert isinstance(main, Program)
    before = dict(os.environ)
    os.environ.update(HOME=folder, XDG_CONFIG_HOME=folder, XDG_STATE_HOME=folder)
    project, sandbox = f"{folder}/p", f"{folder}/p/.reconciler/sandbox.db"
    try:
        for words in (
            ("init", project, "--sandbox"), ("validate", project), ("apply", project, "--yes"), ("drift", project), ("history", project),
            ("state", "list", project), ("plan", project, "--out", f"{folder}/plan.json"), ("show", f"{folder}/plan.json"),
            ("api", "GET", "/orgs/org_acme", "--sandbox", sandbox), ("fmt", project),
        ):  # fmt: skip
            if words[0] in COMMANDS:  # a copy from which a feature was deleted lacks its commands
                run(*words)
    finally:
        os.environ.clear()
        os.environ.update(before)


for module in pkgutil.walk_packages(reconciler.__path__, "reconciler."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
shapes(load())
with tempfile.TemporaryDirectory() as folder:
    app = create_app(Path(folder) / "sandbox.db")
    app.openapi()  # FastAPI examines every endpoint for it
    app.state.service.store.close()
    warm(folder)
assert threading.active_count() == 1, threading.enumerate()  # a lock that a thread holds would never be released in a child
gc.collect()
gc.freeze()
