"""Work that signals do not interrupt: a signal that would end the program waits until it is done.

In: a block of the main thread, which receives signals. A signal handler asks `put_off` before raising.

Own code, because a signal mask holds for one thread only: another thread takes the signal, and Python raises in the main one all the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Blocks:
    """The depth of nested blocks, and what to do at the end of the outermost."""

    depth = 0
    then: Callable[[], None] | None = None


_BLOCKS = _Blocks()


@contextmanager
def unbroken() -> Iterator[None]:
    """Delay signals until the end of this block. Keep it short: a person waits. Other threads do not receive signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _BLOCKS.depth += 1
    try:
        yield
    finally:
        _BLOCKS.depth -= 1
        if not _BLOCKS.depth and _BLOCKS.then is not None:
            then, _BLOCKS.then = _BLOCKS.then, None
            then()


def put_off(then: Callable[[], None]) -> bool:
    """Whether such a block is running; `then` is called at its end."""
    if _BLOCKS.depth:
        _BLOCKS.then = then
    return bool(_BLOCKS.depth)
