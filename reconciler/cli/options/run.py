"""Options that say what a run talks to, what it is about, what it may do, and how its result is written."""

from __future__ import annotations

from pathlib import Path

import click

from reconciler.cli import completion
from reconciler.cli.options.declare import Decorator, globs, together


def service() -> Decorator:
    """Where the service is and how hard it may be asked."""
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
    """Where bindings and journal are."""
    return click.option(
        "--state", metavar="URL", help="The URL of the state, e.g. sqlite:///PATH or s3://BUCKET/PREFIX; also RECONCILER_STATE."
    )


def creating() -> Decorator:
    """Whether a state may be created that is shared or named on the command line."""
    return click.option(
        "--create-state",
        is_flag=True,
        allow_from_autoenv=False,
        help="Create the state if it has never seen this project. Required without a terminal for --state, RECONCILER_STATE, servers, and "
        "files outside the project.",
    )


def targets() -> Decorator:
    """Which addresses the run is about."""
    return together(
        click.option(
            "--target",
            metavar="GLOB",
            multiple=True,
            callback=globs,
            shell_complete=completion.addresses,
            help="Limit the run to matching addresses and what they require. Repeatable.",
        ),
        click.option(
            "--exclude",
            metavar="GLOB",
            multiple=True,
            callback=globs,
            shell_complete=completion.addresses,
            help="Exclude matching addresses. Repeatable.",
        ),
    )


def selection() -> Decorator:
    """What the run is about, and what it may make anew."""
    return together(
        targets(),
        click.option(
            "--allow-replace",
            metavar="ADDRESS",
            multiple=True,
            callback=globs,
            shell_complete=completion.addresses,
            allow_from_autoenv=False,
            help="Allow matching objects to be deleted and recreated. Repeatable.",
        ),
    )


def yes() -> Decorator:
    """Consent to what is planned."""
    return click.option("-y", "--yes", is_flag=True, allow_from_autoenv=False, help="Do not ask for confirmation. Guards still apply.")


def absences() -> Decorator:
    """How much may be gone without being taken for an outage."""
    return click.option(
        "--accept-gone",
        type=click.IntRange(0),
        metavar="N",
        allow_from_autoenv=False,
        help="Accept up to N tracked objects as deleted outside Reconciler.",
    )


def guards() -> Decorator:
    """What this run may do although a guard would refuse it."""
    return together(
        click.option(
            "--allow-delete",
            type=click.IntRange(0),
            metavar="N",
            allow_from_autoenv=False,
            help="Allow up to N deletions, instead of guards.maxDelete.",
        ),
        click.option(
            "--allow-exposure",
            metavar="ADDRESS",
            multiple=True,
            callback=globs,
            shell_complete=completion.addresses,
            allow_from_autoenv=False,
            help="Allow matching addresses to become public or lose a protection. Repeatable.",
        ),
    )


def output(*, formats: tuple[str, ...] = ()) -> Decorator:
    """How results are written."""
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
