"""Signals that come at the moments nobody waits for one, in processes of their own."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from unittest.mock import Mock

import pytest

from reconciler import exits, signals
from reconciler.errors import StateError
from reconciler.run.connection.connecting import recording_end
from reconciler.state import Journal
from tests.proofs import spread

HEAD = """
import asyncio, os, signal
from reconciler import signals
def told(name): os.kill(os.getpid(), getattr(signal, name))
"""
TWICE = """
with signals.ending():
    try:
        told("{first}")
    except (signals.Terminated, KeyboardInterrupt):
        told("{second}")
"""
AMID_THE_LOOPS_OWN_WORK = """
async def run():
    asyncio.get_running_loop().call_soon(told, "{first}")
    await asyncio.gather(asyncio.sleep(60), asyncio.sleep(60), return_exceptions=True)
    print("went on")
with signals.ending() as ending:
    ending.run(lambda: asyncio.run(run()))
"""
AFTER_THE_LAST_TASK = """
loop = asyncio.new_event_loop()
loop.call_soon(told, "{first}")
loop.call_later(1, print, "went on")
loop.call_later(2, loop.stop)
with signals.ending() as ending:
    ending.run(loop.run_forever)
"""
AMID_THE_COLLECTION_OF_GARBAGE = """
import time, weakref
class Garbage: pass
with signals.ending() as ending:
    def run():
        for _ in range(3):
            garbage = Garbage()
            kept = weakref.ref(garbage, lambda _: told("{first}") if ending.number is None else None)
            del garbage
        time.sleep(30)
        print("went on")
    ending.run(run)
"""
AMID_WHAT_IS_TOLD_OF_GARBAGE = """
import io, sys, time
class Garbage:
    def __del__(self): raise ValueError("its own")
class Telling(io.StringIO):
    def write(self, text):
        if "its own" in text: told("{first}")
        time.sleep(0.02)
        return real.write("")
real, sys.stderr = sys.stderr, Telling()
with signals.ending() as ending:
    def run():
        Garbage()
        sys.stderr = real
        time.sleep(30)
        print("went on")
    ending.run(run)
"""
AMID_WHAT_IS_HALF_MADE = """
import sys
class HalfMade:
    def __init__(self):
        told("{first}")
        self.made = True
    def __del__(self):
        assert self.made
async def never_begun(): pass
def run(coroutine):
    HalfMade()
with signals.ending():
    try:
        run(never_begun())
    except BaseException as error:
        left = type(error), error.args
    import gc; gc.collect()
raise left[0](*left[1])
"""
AMID_THE_MAKING_OF_A_CLASS = """
class Field:
    def __set_name__(self, owner, name): told("{first}")
with signals.ending() as ending:
    def run():
        class Sheet:
            field = Field()
        print("went on")
    ending.run(run)
"""
AMID_A_LIBRARY_THAT_LOGS = """
import logging
with signals.ending() as ending:
    try:
        told("{first}")
    except BaseException:
        logging.getLogger("pool").exception("Exception closing connection")
        raise
"""
AMID_WHAT_MUST_NOT_BE_BROKEN_OFF = """
with signals.ending() as ending:
    with ending.uninterrupted():
        with ending.uninterrupted():
            told("{first}")
        print("done")
    print("went on")
"""
TWICE_AMID_IT = """
with signals.ending() as ending, ending.uninterrupted():
    told("{first}")
    told("{second}")
    print("went on")
"""
STOPPED_CALMLY = """
async def run():
    stop = asyncio.Event()
    with ending.stopping(lambda: asyncio.get_running_loop().call_soon_threadsafe(stop.set)):
        told("{first}")
        await stop.wait()
        print("stopped by", ending.number)
with signals.ending() as ending:
    ending.run(lambda: asyncio.run(run()))
    print("went on")
    {then}
"""
TWICE_WHILE_THE_LOOP_IS_BUSY = """
import time
async def run():
    with ending.stopping(lambda: asyncio.get_running_loop().call_soon_threadsafe(print, "stopped")):
        told("{first}")
        told("{second}")
        time.sleep(30)
with signals.ending() as ending:
    ending.run(lambda: asyncio.run(run()))
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HEAD + program], capture_output=True, text=True, timeout=60, check=False)


BEFORE_THE_COMMAND = """
from reconciler.assembled import main
from reconciler.cli import program
program._open_what_is_closed = lambda: told("SIGINT")
main(["--version"])
"""


def test_one_that_comes_before_the_command_begins_is_an_interruption_too() -> None:
    ended = run(BEFORE_THE_COMMAND)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted [RC-interrupted]\n")


IGNORED = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
with signals.ending():
    told("SIGINT")
    print("went on")
"""


def test_one_that_was_to_be_ignored_is() -> None:
    ended = run(IGNORED)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "went on\n", "")


SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("first", spread(SIGNALS, 1))
@pytest.mark.parametrize("second", SIGNALS)
@pytest.mark.parametrize(
    "program", [TWICE, TWICE_AMID_IT, TWICE_WHILE_THE_LOOP_IS_BUSY], ids=["at any time", "amid what must not be broken off", "busy loop"]
)
def test_the_second_one_leaves_at_once_and_without_a_traceback(first: signal.Signals, second: signal.Signals, program: str) -> None:
    ended = run(program.format(first=first.name, second=second.name))
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + second, "", "")


@pytest.mark.parametrize("first", spread(SIGNALS, 1))
@pytest.mark.parametrize(
    "program", [
        AMID_THE_LOOPS_OWN_WORK, AFTER_THE_LAST_TASK, AMID_THE_COLLECTION_OF_GARBAGE, AMID_WHAT_IS_TOLD_OF_GARBAGE, AMID_WHAT_IS_HALF_MADE,
        AMID_THE_MAKING_OF_A_CLASS, AMID_A_LIBRARY_THAT_LOGS,
    ],
    ids=["loop", "idle loop", "garbage", "told of garbage", "half-made", "class", "log"],
)  # fmt: skip
def test_one_that_comes_amid_other_work_is_neither_lost_nor_taken_for_an_error(program: str, first: signal.Signals) -> None:
    ended = run(program.replace("{first}", first.name))
    if first == signal.SIGTERM:
        assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "")
    else:
        assert (ended.returncode, ended.stdout) == (-signal.SIGINT, "")
        assert ended.stderr.strip().splitlines()[-1] == "KeyboardInterrupt"  # the program itself tells it in a line
        assert "Exception ignored" not in ended.stderr
        assert "Exception closing" not in ended.stderr
        assert "never awaited" not in ended.stderr


@pytest.mark.parametrize("first", SIGNALS)
def test_what_must_not_be_broken_off_is_done_first(first: signal.Signals) -> None:
    ended = run(AMID_WHAT_MUST_NOT_BE_BROKEN_OFF.format(first=first.name))
    assert (ended.returncode, ended.stdout) == (143 if first == signal.SIGTERM else -signal.SIGINT, "done\n")


@pytest.mark.parametrize("first", SIGNALS)
def test_the_first_one_stops_an_apply_calmly_and_the_next_one_leaves_at_once(first: signal.Signals) -> None:
    ended = run(STOPPED_CALMLY.format(first=first.name, then=""))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"stopped by {first:d}\nwent on\n", "")
    ended = run(STOPPED_CALMLY.format(first=first.name, then="told('SIGTERM')"))
    assert (ended.returncode, ended.stderr) == (143, "")


@pytest.mark.parametrize("error", [ValueError, RuntimeError, NotImplementedError, asyncio.CancelledError])
def test_what_goes_wrong_while_something_is_applied_keeps_its_name(error: type[BaseException]) -> None:
    async def run() -> None:
        with ending.stopping(lambda: None):
            raise error("its own")

    before = signal.getsignal(signal.SIGTERM)
    with signals.ending() as ending, pytest.raises(error, match="its own"):
        asyncio.run(run())
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_thread_that_gets_no_signals_applies_all_the_same() -> None:
    done: list[str] = []

    async def run() -> None:
        with signals.ending() as ending, ending.stopping(lambda: None):
            done.append("applied")

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    thread.join()
    assert done == ["applied"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), exits.INTERRUPTED),
        (signals.Terminated(), exits.INTERRUPTED),
        (RuntimeError("made of one"), exits.INTERRUPTED),
        (RuntimeError("its own"), exits.FAILED),
        (StateError("its own", id="RC-state-busy"), StateError.exit_code),
    ],
    ids=["SIGINT", "SIGTERM", "made of one", "defect", "error"],
)
def test_the_journal_tells_a_run_that_a_signal_ended_from_one_that_failed(error: BaseException, code: int) -> None:
    cause = KeyboardInterrupt() if str(error) == "made of one" else None
    journal = Mock(spec=Journal)
    with pytest.raises(type(error)), recording_end(journal):
        raise error from cause
    journal.finish.assert_called_once_with(exit_code=code, summary={})
