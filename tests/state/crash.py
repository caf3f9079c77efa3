"""Processes that die: a script that runs to the end of a line it prints, and then is killed or kills itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from reconciler.state import StateScope
from tests import processes

PROLOGUE = """
import os, sys
from reconciler.state import IntentEnding, StateScope, Store
from tests.state.examples import *
url, project, service = sys.argv[1:]
store = Store.open(url, StateScope(project, None, service), clock=CLOCK, create=True)
"""
HOLD = (
    PROLOGUE
    + """
with store.lease(who="grace@server", command="reconciler apply --env live") as journal:
    print("held", flush=True)
    sys.stdin.read()
"""
)


def _command(script: str, url: str, scope: StateScope) -> list[str]:
    return [sys.executable, "-c", script, url, scope.project, scope.service]


def run(script: str, url: str, scope: StateScope) -> subprocess.CompletedProcess[str]:
    """Run the script after the prologue, to its end."""
    return processes.run(_command(PROLOGUE + script, url, scope), capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def holding(url: str, scope: StateScope) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lease until its input ends, or it does."""
    with processes.Popen(_command(HOLD, url, scope), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
