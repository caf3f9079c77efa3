"""Options that choose the service, the targets, the permissions, the commit and the output of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from reconciler.cli import completion
from reconciler.cli.options.declare import Decorator, globs, together
from reconciler.text.state_urls import BUCKET, SQLITE

PREFIX_MIN: Final = 7  # digits of a commit's id
HEXADECIMAL: Final = frozenset("0123456789abcdef")


def service() -> Decorator:
    """The service, and the limits of requests to it."""
    return together(
        click.option("--sandbox", type=click.Path(path_type=Path), metavar="FILE", help="Use the embedded sandbox in this file."),
        click.option(
            "--base-url", metavar="URL", help="The URL of the service; also RECONCILER_BASE_URL. The token comes from RECONCILER_TOKEN."
        ),
        click.option("--max-concurrency", type=click.IntRange(1, 1000), metavar="N", help="Send up to N requests at the same time."),
        click.option(
            "--max-rps", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Send at most this many requests per second."
        ),
    )


def state() -> Decorator:
    """The location of the state."""
    return click.option(
        "--state", metavar="URL", help=f"The URL of the state, e.g. {SQLITE.form} or {BUCKET.yaml_form}; also RECONCILER_STATE."
    )


def creating() -> Decorator:
    """Whether a shared state, or one named on the command line, may be created."""
    return click.option(
        "--create-state",
        is_flag=True,
        allow_from_autoenv=False,
        help="Create the state if it has never seen this project. Required without a terminal for --state, RECONCILER_STATE, servers, and "
        "files outside the project.",
    )


def _addresses(name: str, metavar: str, text: str, *, consent: bool = False) -> Decorator:
    """A repeatable option of addresses or patterns. `consent`: it gives consent, so no variable of the environment sets it."""
    return click.option(
        name, metavar=metavar, multiple=True, callback=globs, shell_complete=completion.addresses, help=text,
        allow_from_autoenv=not consent,
    )  # fmt: skip


def targets() -> Decorator:
    """The addresses that the run includes."""
    return together(
        _addresses("--target", "GLOB", "Limit the run to matching addresses and what they require. Repeatable."),
        _addresses("--exclude", "GLOB", "Exclude matching addresses. Repeatable."),
    )


def selection() -> Decorator:
    """The addresses that the run includes, and those that it may recreate."""
    return together(
        targets(),
        _addresses("--allow-replace", "ADDRESS", "Allow matching objects to be deleted and recreated. Repeatable.", consent=True),
    )


def yes() -> Decorator:
    """Confirm the plan."""
    return click.option("-y", "--yes", is_flag=True, allow_from_autoenv=False, help="Do not ask for confirmation. Guards still apply.")


def absences() -> Decorator:
    """How many objects may be missing without being taken for an outage."""
    return click.option(
        "--accept-gone",
        type=click.IntRange(0),
        metavar="N",
        allow_from_autoenv=False,
        help="Accept up to N tracked objects as deleted outside Reconciler.",
    )


def guards() -> Decorator:
    """Changes that this run may make although a guard would refuse them."""
    return together(
        click.option(
            "--allow-delete",
            type=click.IntRange(0),
            metavar="N",
            allow_from_autoenv=False,
            help="Allow up to N deletions, instead of guards.maxDelete.",
        ),
        exposures("Allow matching addresses to become public or lose a protection. Repeatable."),
    )


def exposures(text: str) -> Decorator:
    """The addresses that this run may expose."""
    return _addresses("--allow-exposure", "ADDRESS", text, consent=True)


def rules() -> Decorator:
    """Whose rules judge the project."""
    return click.option(
        "--rules-from",
        metavar="REF",
        help="Take guards, prune, protect, access and policies from this branch, tag or commit, instead of from the files.",
    )


def output(*, formats: tuple[str, ...] = ()) -> Decorator:
    """The format of results."""
    chosen: tuple[Decorator, ...] = ()
    if formats:
        chosen = (
            click.option("--format", type=click.Choice(formats), default=formats[0], show_default=True, help="The format of the result."),
        )
    return together(
        *chosen,
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Color the output; also NO_COLOR and FORCE_COLOR.",
        ),
    )


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
