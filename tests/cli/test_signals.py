"""Signals that come at the moments nobody waits for one, in processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

HEAD = """
import asyncio, os, signal
from reconciler.cli import signals
def told(name): os.kill(os.getpid(), getattr(signal, name))
"""
TWICE = """
with signals.terminable():
    try:
        told("SIGTERM")
    except signals.Terminated:
        told("{second}")
"""
AFTER_CTRL_C = """
with signals.terminable():
    try:
        told("SIGINT")
    except KeyboardInterrupt:
        signals.leave_next()
        told("{second}")
"""
AMID_THE_LOOPS_OWN_WORK = """
async def run():
    asyncio.get_running_loop().call_soon(told, "SIGTERM")
    await asyncio.gather(asyncio.sleep(60), asyncio.sleep(60), return_exceptions=True)
    print("went on")
with signals.terminable(), signals.raising():
    asyncio.run(run())
"""
AFTER_THE_LAST_TASK = """
loop = asyncio.new_event_loop()
loop.call_soon(told, "SIGTERM")
loop.call_later(1, print, "went on")
loop.call_later(2, loop.stop)
with signals.terminable(), signals.raising():
    loop.run_forever()
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HEAD + program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("first", [TWICE, AFTER_CTRL_C])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_one_leaves_at_once_and_without_a_traceback(first: str, second: signal.Signals) -> None:
    ended = run(first.format(second=second.name))
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + second, "", "")


@pytest.mark.parametrize("program", [AMID_THE_LOOPS_OWN_WORK, AFTER_THE_LAST_TASK])
def test_one_amid_the_work_of_an_event_loop_is_neither_lost_nor_taken_for_an_error_of_a_connection(program: str) -> None:
    ended = run(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "")
