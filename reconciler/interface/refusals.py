"""The errors of a run, with the way past them in Python: hints name options of the command line, and a program has arguments."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import pairwise
from typing import Any, Final

from reconciler.cli.option_table import ROWS
from reconciler.errors import ConfigError, ReconcilerError, StalePlan
from reconciler.run.operation import Limits
from reconciler.text.masks import Masks

ARGUMENTS: Final = {"env": "environment", "base_url": "service", "sandbox": "sandbox", "state": "state", "create_state": "create_state"}
"""The arguments of `open` for options that hints name, by their fields."""
AGAIN: Final = "Make a new one: project.plan()."
_DEFAULTS: Final[dict[str, Any]] = {known.name: known.default for known in fields(Limits)}


@contextmanager
def in_python(masks: Masks) -> Iterator[None]:
    """Mask the secrets in an error of this block, and add to its hint what to write in Python."""
    try:
        yield
    except ReconcilerError as error:
        for reason in {id(item): item for item in (error, *getattr(error, "reasons", ()))}.values():
            translate(reason, masks)
        if isinstance(error, ConfigError):
            error.problems = masks.data(error.problems)
        error.add_note(f"{error.hint}\n[{error.id}]" if error.hint else f"[{error.id}]")  # a traceback shows it
        raise


def translate(error: ReconcilerError, masks: Masks) -> None:
    """Mask its secrets, and add to its hint what to write in Python."""
    error.message = masks.text(error.message)
    error.args = (error.message,)
    if isinstance(error, StalePlan):
        error.hint = AGAIN
    elif error.hint is not None:
        way = way_of(error.hint)
        error.hint = masks.text(f"{error.hint}\nIn Python: {way}" if way else error.hint)


def way_of(hint: str) -> str:
    """The arguments for the options that a hint names: `limits=Limits(deletions=4)`; "" where it names none."""
    rows = {f"--{row.name}": row for row in ROWS}
    words = _words(hint)
    limits: dict[str, list[str]] = {}
    arguments: list[str] = []
    for word, value in pairwise([*words, ""]):
        row = rows.get(word.rstrip(".,;"))
        if row is None:
            continue
        if row.limit:
            limits.setdefault(row.limit, []).append(value.rstrip(";"))
        elif row.field in ARGUMENTS:
            arguments.append(f"{ARGUMENTS[row.field]}=" + ("True" if row.settings.get("is_flag") else repr(value.rstrip(".,;"))))
    if limits:
        arguments.append(f"limits=Limits({', '.join(f'{name}={_value(name, texts)}' for name, texts in limits.items())})")
    return ", ".join(dict.fromkeys(arguments))


def _words(hint: str) -> list[str]:
    try:
        return shlex.split(hint)
    except ValueError:  # an apostrophe of a sentence
        return hint.split()


def _value(name: str, texts: list[str]) -> str:
    if not isinstance(_DEFAULTS[name], tuple):
        return texts[-1]
    written = [repr(text) if name == "dead_urls" else f"Glob.parse({text!r})" for text in dict.fromkeys(texts)]
    return f"({', '.join(written)},)"
