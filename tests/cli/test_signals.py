"""A second SIGTERM, which comes while the first one is being told."""

from __future__ import annotations

import subprocess
import sys

TWICE = """
import os, signal
from reconciler.cli import signals
with signals.terminable():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except signals.Terminated:
        os.kill(os.getpid(), signal.SIGTERM)
"""


def test_the_second_one_leaves_at_once_and_without_a_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "")
