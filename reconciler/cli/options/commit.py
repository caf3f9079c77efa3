"""Options about the commit that a saved plan was created from."""

from __future__ import annotations

from typing import Final

import click

from reconciler.cli.options import Decorator

PREFIX_MIN: Final = 7  # digits of a commit's id
HEXADECIMAL: Final = frozenset("0123456789abcdef")


def _commit(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    text = value.lower() if value is not None else None
    if text is None or (len(text) in (40, 64) and set(text) <= HEXADECIMAL):
        return text
    raise click.BadParameter(f"{value!r} is not a whole commit id: 40 or 64 hexadecimal digits", ctx=ctx, param=param)


def _commit_prefix(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    text = value.lower() if value is not None else None
    if text is None or (PREFIX_MIN <= len(text) <= 64 and set(text) <= HEXADECIMAL):
        return text
    raise click.BadParameter(f"{value!r} is not a commit id: at least {PREFIX_MIN} hexadecimal digits", ctx=ctx, param=param)


def commit() -> Decorator:
    """The commit that a saved plan records."""
    return click.option(
        "--commit",
        metavar="SHA",
        callback=_commit,
        help="With --out: the commit to record, where neither the CI system nor git knows it.",
    )


def require_commit() -> Decorator:
    """The commit that a saved plan must have been created from."""
    return click.option(
        "--require-commit",
        metavar="SHA",
        callback=_commit_prefix,
        help=f"With --plan: refuse a plan of another commit. The first {PREFIX_MIN} digits of the id, or more.",
    )
