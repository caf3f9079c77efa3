"""`reconciler sandbox copy`: a sandbox that holds what a token can read of an organization, with the same ids. Only GET."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.loading import loaded
from reconciler.cli.opening import connected
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.client.service import Reader
from reconciler.config import Project
from reconciler.errors import UsageError
from reconciler.features.rehearsal.copying import LivingAnswers, read_living, root_ids
from reconciler.kinds import load as load_kinds
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.connection.connecting import ConnectedService
from reconciler.run.connection.embedded import checked, sandbox_errors

MAX_PAGES = 1_000
UNREAD_MAX = 20  # readings named one by one


@click.command("copy", short_help="Copy a living organization.")
@click.option("--from", "source", type=click.Path(path_type=Path), metavar="PROJECT", help="Copy the organizations of this project.")
@click.option("--org", metavar="ID", help="Copy this organization, without a project.")
@click.option("--db", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The file to create.")
@click.option("--content", is_flag=True, help="Copy the text of pages too, not only their titles.")
@click.option(
    "--max-pages",
    type=click.IntRange(0),
    default=MAX_PAGES,
    show_default=True,
    metavar="N",
    help="With --content: copy the text of this many pages.",
)
@click.option(
    "--with-secrets",
    is_flag=True,
    allow_from_autoenv=False,
    help="Keep e-mail addresses, share keys, certificates and credentials in URLs.",
)
@shared.reading()
@shared.service()
@shared.output()
@click.pass_obj
def command(
    screen: Screen,
    /,
    source: Path | None,
    org: str | None,
    db: Path,
    content: bool,
    max_pages: int,
    with_secrets: bool,
    **parameters: Any,
) -> int:
    """Make a sandbox that holds what the token can read of an organization, with the same ids. Sends only GET requests.

    E-mail addresses, share keys, certificates and credentials in URLs are replaced by stand-ins; titles stay. Exits with 5 if something
    could not be read.

    \b
    Example:
      reconciler sandbox copy --from examples/acme --sandbox .reconciler/acme.db --db copy.db
      reconciler sandbox copy --org org_acme --base-url https://api.example.com --db copy.db
    """
    if (source is None) == (org is None):
        raise UsageError("name what to copy", id="RC-missing-argument", hint="Pass --from PROJECT or --org ID, not both.")
    checked(db, option="--db")
    if db.exists() and db.stat().st_size:
        raise UsageError(
            f"--db {db} exists", id="RC-not-a-sandbox-file", hint="A copy needs a new file: choose another name, or delete it."
        )
    options = Options.of(screen, {**parameters, "project": source or Path()})
    kinds, narration = load_kinds(), TerminalVoice(screen)
    project = loaded(screen, options, kinds) if source is not None else None
    ids = [org] if org is not None else _roots(project)
    with sandbox_errors():
        from reconciler.sandbox import copies  # an extra: the sandbox needs its packages
    wanted = partial(copies.wanted, content=content, max_pages=max_pages)
    with connected(screen, options, project, kinds if project is not None else None) as service:
        with narration.phase("Reading " + ", ".join(ids), where=service.where):
            read = asyncio.run(_read(narration, service, kinds, ids, wanted))
        base, embedded = service.settings.base_url, service.embedded
    if not any(read.actual.find(kind.name, id) for kind in kinds.roots for id in ids):
        wrong = f"organization {', '.join(ids)} does not exist, or the token has no access to it"
        raise UsageError(wrong, id="RC-organization-not-found", hint="To list the available organizations: reconciler import")
    export = copies.copied(base, read.answers)
    if embedded:
        # The URLs of a sandbox in this process end with it.
        del export["origin"]
    with sandbox_errors():
        number = copies.write_copy(db, export if with_secrets else copies.without_secrets(export))
    screen.say(f"Copied {count(number, 'object')} into {db} with {count(read.requests, 'GET')}.")
    _tell_unread(screen, read.unread)
    screen.say(f"Next: reconciler sandbox serve --db {db}")
    return exits.PARTLY if read.unread else exits.DONE


def _roots(project: Project | None) -> list[str]:
    ids = root_ids(project.desired) if project is not None else []
    if not ids:
        raise UsageError("the project declares no organization", id="RC-missing-argument", hint="Pass --org ID instead of --from.")
    return ids


async def _read(narration: TerminalVoice, service: ConnectedService, kinds: Kinds, ids: Sequence[str], wanted: Any) -> LivingAnswers:
    async with Reader(service.settings, listener=narration) as reader:
        return await read_living(reader, kinds, ids, wanted)


def _tell_unread(screen: Screen, unread: Sequence[str]) -> None:
    if unread:
        screen.say(f"{count(len(unread), 'reading')} failed, and the copy lacks what they show:")
        for sentence in unread[:UNREAD_MAX]:
            screen.say(f"  {sentence}")
        if len(unread) > UNREAD_MAX:
            screen.say(f"  and {len(unread) - UNREAD_MAX} more")
