"""`reconciler state pull` and `push`: a whole state as one document, from one database into another."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Never

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import Refused, UsageError

if TYPE_CHECKING:
    from reconciler.report.schemas.state import BindingData, StateDocument
    from reconciler.resource import Kinds

BYTES_MAX: Final = 1 << 30  # of a document; its history is the most of it


@click.command("pull", short_help="The whole state as one document.")
@shared.project()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write it there (readable by you only).")
@shared.service()
@shared.state()
@click.pass_obj
def pull_command(screen: Screen, /, out: Path | None, **words: Any) -> None:
    """Write the whole state as one document: bindings, what was sent and seen, rules, history. Values of sensitive fields are left out.

    \b
    Example:
      reconciler state pull examples/acme --sandbox .reconciler/acme.db --out acme-state.json
    """
    from reconciler.cli.wiring.connect import known_service, load, open_store
    from reconciler.cli.wiring.trust import write_private
    from reconciler.cli.wiring.unseen import warned
    from reconciler.kinds import load as load_kinds
    from reconciler.text.escape import as_json

    options = Options.of(screen, words)
    kinds = load_kinds()
    project = load(screen, options, kinds)
    service = known_service(screen, options, project)
    document = None
    if service is not None:
        with open_store(screen, options, project, service, create=False) as store:
            warned(screen, options, project, service, store)
            document = store.pull()
            if store.condition().held:
                screen.say("A run holds the state; what it does from now on is not in the document.")
    if document is None:
        raise UsageError("there is no state yet", hint="reconciler apply makes it.")
    found = without_secrets(document, kinds)
    if (place := hidden_in(found, screen.masked_data(found))) is not None:
        hint = "If it comes from a variable that is no secret, say so with --public-var NAME; else take the value out of what is managed."
        raise Refused(f"the state holds a value that is kept secret, in {place}; it is not written down", hint=hint)
    text = as_json(found, indent=1) + "\n"
    if out is None:
        screen.made(text)
        return
    try:
        write_private(out, text)
    except OSError as error:
        raise UsageError(f"the state cannot be written to {out}: {(error.strerror or 'unknown reason').lower()}") from error
    screen.say(f"Wrote the state to {out}: {len(found['bindings'])} bound, {len(found['runs'])} runs, serial {found['serial']}.")


@click.command("push", short_help="Put such a document where the state is.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True))
@shared.project()
@click.option("--force", is_flag=True, help="Over another state, or a newer one, too. Not over a request in doubt.")
@shared.service()
@shared.state()
@click.pass_obj
def push_command(screen: Screen, /, file: Path, force: bool, **words: Any) -> None:
    """Put a document of `state pull` where the state is: where nothing is yet, or where the same state is that the document continues.

    \b
    Example:
      reconciler state push acme-state.json examples/acme --sandbox .reconciler/acme.db --state postgresql://ada@db.example/reconciler
    """
    from reconciler.cli import exits
    from reconciler.cli.wiring.connect import accounted, known_service, load, open_store, who
    from reconciler.cli.wiring.unseen import unseen
    from reconciler.kinds import load as load_kinds
    from reconciler.state.transfer.push import PUSH

    options = Options.of(screen, words)
    found = read(file)
    project = load(screen, options, load_kinds())
    service = known_service(screen, options, project)
    if service is None:
        raise UsageError("the sandbox does not exist yet, so that nothing can be bound to it", hint="Pass the sandbox the state is about.")
    with open_store(screen, options, project, service, create=False) as reader:
        document = reader.check(found)
        new = unseen(options, project, service, reader)
    if new is not None:
        screen.say(f"Creating {new.where} for {new.project}.")
    with (
        open_store(screen, options, project, service, create=True) as store,
        store.lease(who=who(), command=PUSH) as journal,
        accounted(journal),
    ):
        journal.replace(document, force=force)
        journal.finish(exit_code=exits.DONE, summary={})
        now = journal.state()
    screen.out(f"The state is there: {len(now.bindings)} bound, {len(document['runs'])} runs, serial {now.serial}.\n")


def without_secrets(document: StateDocument, kinds: Kinds) -> StateDocument:
    """The same without the values of sensitive fields; after a push they are sent once more."""

    def shown(binding: BindingData) -> BindingData:
        kind = kinds.get(binding["kind"])
        hidden = {name for name, one in kind.fields.items() if one.sensitive} if kind is not None else set()
        return {**binding, "fields": {name: pair for name, pair in binding["fields"].items() if name not in hidden}}

    return {**document, "bindings": [shown(one) for one in document["bindings"]]}


def hidden_in(document: Any, masked: Any, at: str = "") -> str | None:
    """Where in a document the first thing was masked, such as `bindings[3].fields.title.sent`; None where nothing was."""
    if masked == document:
        return None
    parts: Iterable[tuple[str, Any, Any]] = ()
    if isinstance(document, list) and isinstance(masked, list):
        parts = ((f"{at}[{index}]", *pair) for index, pair in enumerate(zip(document, masked, strict=True)))
    elif isinstance(document, dict) and isinstance(masked, dict):  # a name that was masked itself is not found in the other
        parts = ((f"{at}.{name}" if at else name, part, masked.get(name)) for name, part in document.items())
    return next((found for place, part, made in parts if (found := hidden_in(part, made, place)) is not None), at)


def read(file: Path) -> Any:
    """The JSON in a file, `-` for stdin. Raises `UsageError`."""
    try:
        with click.open_file(str(file), "rb") as stream:
            text = stream.read(BYTES_MAX + 1)
        if len(text) > BYTES_MAX:
            raise UsageError(f"{file} is larger than a state can be: more than {BYTES_MAX >> 20} MiB")
        return json.loads(text, parse_constant=_no_number)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {(error.strerror or 'unknown reason').lower()}") from error
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{file}{where} is not JSON", hint="Make it with `reconciler state pull --out FILE`.") from None


def _no_number(name: str) -> Never:
    raise ValueError(name)
