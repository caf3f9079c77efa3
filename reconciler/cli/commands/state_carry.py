"""`reconciler state pull` and `push`: a whole state as one document, from one database into another."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Never

import click

from reconciler import exits
from reconciler.cli import options as shared
from reconciler.cli.declare import OutputFile, named_content
from reconciler.cli.loading import loaded
from reconciler.cli.opening import leased_state, service_of, store_of
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.errors import Refused, UsageError, os_reason
from reconciler.kinds import load as load_kinds
from reconciler.report.schemas.state import BindingData, StateDocument
from reconciler.report.words import count
from reconciler.resource import Kinds
from reconciler.run.connection.unseen import unseen, warn_unseen
from reconciler.state.history import PUSH
from reconciler.text.credentials import has_credentials
from reconciler.text.escape import as_json
from reconciler.writing import write_whole

BYTES_MAX: Final = 1 << 30  # of a document, most of which is history


@click.command("pull", short_help="Export the state as one JSON document.")
@shared.project()
@click.option("--out", type=OutputFile(), metavar="FILE", help="Write it to a file that only you can read.")
@shared.service()
@shared.state()
@click.pass_obj
def pull_command(screen: Screen, /, out: Path | None, **parameters: Any) -> None:
    """Export the state as one JSON document: tracked objects, rules, runs, journal. Values of sensitive fields are left out.

    \b
    Example:
      reconciler state pull examples/acme --sandbox .reconciler/acme.db --out acme-state.json
    """
    options = Options.of(screen, parameters)
    kinds = load_kinds()
    project = loaded(screen, options, kinds)
    service = service_of(screen, options, project)
    document = None
    if service is not None:
        with store_of(screen, options, project, service) as store:
            warn_unseen(options.operation, TerminalVoice(screen), project, service, store)
            document = store.pull()
            if store.condition().held:
                screen.say("A run holds the state; what it does from now on is not exported.")
    if document is None:
        raise UsageError("there is no state yet", id="RC-no-state", hint="reconciler apply creates it.")
    carried = without_secrets(document, kinds)
    if (place := hidden_in(carried, screen.masked_data(carried))) is not None:
        hint = "If the variable is not a secret, pass --public-var NAME; otherwise remove the value from the managed resources."
        raise Refused(f"the state contains a secret value, in {place}; it was not exported", id="RC-secret-in-state", hint=hint)
    text = as_json(carried, indent=1) + "\n"
    if out is None:
        screen.raw(text)
        return
    try:
        write_whole(out, text)
    except OSError as error:
        raise UsageError(f"the state cannot be written to {out}: {os_reason(error)}", id="RC-file-not-written") from error
    screen.say(
        f"Wrote the state to {out}: {len(carried['bindings'])} tracked, {count(len(carried['runs']), 'run')}, serial {carried['serial']}."
    )


@click.command("push", short_help="Import an exported state.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True))
@shared.project()
@click.option(
    "--force",
    is_flag=True,
    allow_from_autoenv=False,
    help="Overwrite another state or a newer one. Requests in doubt are never overwritten.",
)
@shared.service()
@shared.state()
@shared.lease()
@click.pass_obj
def push_command(screen: Screen, /, file: Path, force: bool, **parameters: Any) -> None:
    """Import a document of `state pull`. By default it must continue the existing state, or there must be none yet.

    \b
    Example:
      reconciler state push acme-state.json examples/acme --sandbox .reconciler/acme.db --state 'postgresql://ada@db.example/reconciler?sslmode=verify-full'
    """
    options = Options.of(screen, parameters)
    carried = read(file)
    project = loaded(screen, options, load_kinds())
    service = service_of(screen, options, project)
    if service is None:
        wrong = "the sandbox does not exist yet, so it contains no objects to track"
        raise UsageError(wrong, id="RC-no-sandbox", hint="Pass the sandbox that the state belongs to.")
    with store_of(screen, options, project, service) as reader:
        document = reader.check(carried)
        new = unseen(options.operation, project, service, reader)
    if new is not None:
        screen.say(f"Creating {new.where} for {new.project}.")
    with leased_state(screen, options, project, service, command=PUSH) as (_, journal):
        journal.replace(document, force=force)
        journal.finish(exit_code=exits.DONE, summary={})
        now = journal.state()
    screen.out(f"The state was imported: {len(now.bindings)} tracked, {count(len(document['runs']), 'run')}, serial {now.serial}.\n")


def without_secrets(document: StateDocument, kinds: Kinds) -> StateDocument:
    """The same without secrets, and without values that contain one; they are sent again after a push."""

    def public(binding: BindingData) -> BindingData:
        kind = kinds.get(binding["kind"])
        hidden = {name for name, field in kind.fields.items() if field.sensitive} if kind is not None else set()
        shown = {name: pair for name, pair in binding["fields"].items() if name not in hidden and not has_credentials(pair)}
        return {**binding, "fields": shown}

    return {**document, "bindings": [public(binding) for binding in document["bindings"]]}


def hidden_in(document: Any, masked: Any, at: str = "") -> str | None:
    """The path of the first masked value in a document, such as `bindings[3].fields.title.sent`; None if nothing was masked."""
    if masked == document:
        return None
    parts: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(document, list) and isinstance(masked, list):
        parts = ((f"{at}[{index}]", *pair) for index, pair in enumerate(zip(document, masked, strict=True)))
    elif isinstance(document, dict) and isinstance(masked, dict):  # a name that was masked is missing in the other
        parts = ((f"{at}.{name}" if at else name, part, masked.get(name)) for name, part in document.items())
    return next((inner for place, part, value in parts if (inner := hidden_in(part, value, place)) is not None), at)


def read(file: Path) -> Any:
    """The JSON in a file, `-` for stdin. Raises `UsageError`."""
    try:
        text = named_content(str(file), BYTES_MAX)
        if len(text) > BYTES_MAX:
            raise UsageError(f"{file} is larger than a state can be: more than {BYTES_MAX >> 20} MiB", id="RC-file-too-large")
        return json.loads(text, parse_constant=_no_number)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {os_reason(error)}", id="RC-file-not-read") from error
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(
            f"{file}{where} is not JSON", id="RC-not-json", hint="Create it with `reconciler state pull --out FILE`."
        ) from None


def _no_number(name: str) -> Never:
    raise ValueError(name)
