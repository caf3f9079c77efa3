"""A call of a program: in a thread of its own, so that it works beside a running event loop, and no handler of signals is set.

What interrupts the caller (Ctrl-C, an exception of a handler or of its voice) ends the call as a first Ctrl-C ends a command: an apply
after the requests under way, anything else at once. The call has ended, and its lease is free, when the exception goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final, TypeVar

from reconciler.run.call_voice import CallVoice
from reconciler.signals import StopSignals

T = TypeVar("T")

Voice = Callable[[str], object]
"""Gets each sentence that a command would print beside its result, from the thread of the call."""
UNHEARD: Final = "debug"


class ProgramCall:
    """One call. `voice` and `signals`: of its run. `says`: who hears its sentences; None: nobody."""

    def __init__(self, says: Voice | None) -> None:
        self.voice, self.signals = CallVoice(self._say), StopSignals()
        self._says, self._raised = says, list[BaseException]()

    def _say(self, level: str, event: str, text: str, **facts: Any) -> None:
        if self._says is None or level == UNHEARD or self._raised:
            return
        try:
            self._says(text)
        except BaseException as error:  # of the caller's own code, which may run in any thread: it goes on in the caller's
            self._raised.append(error)
            self._end()

    def _end(self) -> None:
        stop = self.signals.stop
        if stop is not None:
            stop()
        else:
            self.voice.cancel()

    def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. Raises what interrupted the caller, or what its voice raised, once the work has ended."""
        results, errors, ended, context = list[T](), list[BaseException](), threading.Event(), copy_context()

        def working() -> None:
            try:
                results.append(context.run(work))
            except BaseException as error:
                errors.append(error)
            finally:
                ended.set()

        thread = threading.Thread(target=working, name="reconciler")
        thread.start()
        try:
            ended.wait()
        except BaseException:
            self._end()
            ended.wait()
            raise
        thread.join()
        for error in (*self._raised, *errors):
            raise error
        return results[0]
