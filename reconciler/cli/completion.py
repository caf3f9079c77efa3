"""Shell completion: addresses and runs from the state, environments, kinds, schemas.

In: the typed part of a line. Out: candidates. It reads files of this machine only and quickly: no YAML is evaluated, nothing is sent.
Errors are silent and give no candidates. Forbidden: writing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from reconciler.cli.wiring.sealed import STATE, written_state
from reconciler.config.words import project_file
from reconciler.kinds import load
from reconciler.regular_file import open_regular
from reconciler.report.schemas.documents import DOCUMENTS
from reconciler.state.store import recorded_runs, tracked_addresses

if TYPE_CHECKING:
    Candidates = list[CompletionItem[str]]

SHELLS: Final = ("bash", "zsh", "fish")
CANDIDATES_MAX: Final = 1000
_PROJECT: Final = re.compile(r"""^project:[ \t]+["']?([A-Za-z0-9._-]+)["']?[ \t]*(?:#.*)?\r?$""", re.MULTILINE)

Completer = Callable[[click.Context, click.Parameter, str], "Candidates"]


def _completer(find: Callable[[click.Context, str], Iterator[tuple[str, str]]]) -> Completer:
    """A completer with the candidates of `find`, each with a description."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> Candidates:

        completions: Candidates = []
        try:
            for value, remark in find(ctx, incomplete):
                if value.startswith(incomplete):
                    completions.append(CompletionItem(value, help=remark or None))
                if len(completions) >= CANDIDATES_MAX:
                    break
        except Exception:  # errors during completion are never reported
            return []
        return completions

    return complete


@_completer
def addresses(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The addresses that the state tracks."""
    params = _params(ctx)
    file, project = _state(params)
    if file is not None:
        for address in tracked_addresses(file, project, params.get("env") or ""):
            yield address, ""


@_completer
def runs(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The runs in the state, newest first."""
    yield "last", "the newest run that sent anything"
    params = _params(ctx)
    file, project = _state(params)
    if file is not None:
        for id, command, started in recorded_runs(file, project, params.get("env") or ""):
            yield id, f"{command}, {started[:16].replace('T', ' ')}"


@_completer
def environments(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The environments of the project."""
    for file in sorted((_file(_params(ctx)).parent / "environments").glob("*.yaml")):
        yield file.stem, ""


@_completer
def kinds(_: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The kinds; after a point, the fields of a kind."""
    every = load()
    name, point, _field = incomplete.partition(".")
    if point and name in every:
        for field, declared in every[name].fields.items():
            yield f"{name}.{field}", declared.doc
    for kind in every.values():
        yield kind.name, kind.doc.partition("\n")[0]


@_completer
def schemas(_: click.Context, __: str) -> Iterator[tuple[str, str]]:
    """The names of the schemas."""
    yield "config", "project files"
    yield "fleet", "fleet files"
    for name, (title, _document) in DOCUMENTS.items():
        yield name, title


def _params(ctx: click.Context) -> dict[str, Any]:
    """The parameters of the line; click drops them if the value of the last option is completed."""
    words: list[str] = list(ctx.find_root().obj or ())
    if not words or not words[-1].startswith("-"):
        return ctx.params
    at = 0
    for name in ctx.command_path.split()[1:]:
        at = words.index(name, at) + 1
    return ctx.command.make_context(ctx.info_name, words[at:-1], parent=ctx.parent, resilient_parsing=True).params


def _file(params: dict[str, Any]) -> Path:
    """The project file of the line."""
    return project_file(Path(params.get("project") or Path()))


def _state(params: dict[str, Any]) -> tuple[Path | None, str]:
    """The file of the state, None if it is on a server, in a bucket or unknown; and the name of the project, "" if unknown."""
    file = _file(params)
    with open_regular(file) as opened:
        text = opened.read()
    named = _PROJECT.search(text.decode("utf-8", "replace"))
    given = params.get("state") or os.environ.get(STATE)
    environment = file.parent / "environments" / f"{params.get('env')}.yaml"
    if not given and params.get("env") and environment.is_file():
        with open_regular(environment) as opened:
            own = opened.read()
        text = own if b"state:" in own else text
    return written_state(file.parent, text, given), named[1] if named else ""
