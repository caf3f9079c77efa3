"""Candidates for shell completion that are in files of this machine: addresses and runs in the state, environments.

Each function is the `shell_complete` of a parameter. It reads quickly: no YAML is evaluated, nothing is sent. Errors are silent and give no
candidates. Forbidden: writing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from reconciler.config.keys import project_file
from reconciler.config.source.reader import FILE_MAX
from reconciler.links import read_file
from reconciler.state.store import recorded_runs, tracked_addresses
from reconciler.text.backends import file_of

CANDIDATES_MAX: Final = 1000
STATE: Final = "RECONCILER_STATE"
_PROJECT: Final = re.compile(r"""^project:[ \t]+["']?([A-Za-z0-9._-]+)["']?[ \t]*(?:#.*)?\r?$""", re.MULTILINE)
_STATE_KEY: Final = re.compile(rb"""state["']?[ \t]*:""")
_STATE_LINE: Final = re.compile(rb"""^state:[ \t]+["']?sqlite:///([^\s"'#?]+)["']?[ \t]*(?:#.*)?\r?$""", re.MULTILINE)

Candidates = list[CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Candidates]


def completer(find: Callable[[click.Context, str], Iterator[tuple[str, str]]]) -> Completer:
    """A completer with the candidates of `find`, each with a description."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> Candidates:
        completions: Candidates = []
        try:
            for value, remark in find(ctx, incomplete):
                if value.startswith(incomplete):
                    completions.append(CompletionItem(value, help=remark or None))
                if len(completions) >= CANDIDATES_MAX:
                    break
        except Exception:  # whoever presses Tab asked for no diagnosis, and a message would destroy the line that they type
            return []
        return completions

    return complete


@completer
def addresses(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The addresses that the state tracks."""
    params = _params(ctx)
    file, project = _state(params)
    if file is not None:
        for address in tracked_addresses(file, project, params.get("env") or ""):
            yield address, ""


@completer
def runs(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The runs in the state, newest first."""
    yield "last", "the newest run that sent anything"
    params = _params(ctx)
    file, project = _state(params)
    if file is not None:
        for id, command, started in recorded_runs(file, project, params.get("env") or ""):
            yield id, f"{command}, {started[:16].replace('T', ' ')}"


@completer
def environments(ctx: click.Context, _: str) -> Iterator[tuple[str, str]]:
    """The environments of the project."""
    for file in sorted((_file(_params(ctx)).parent / "environments").glob("*.yaml")):
        yield file.stem, ""


def _params(ctx: click.Context) -> dict[str, Any]:
    """The parameters of the line."""
    # click parses `plan p --target ` and stops at the missing value, before it has assigned `p` to the project. So the line is parsed again
    # without its last option.
    args: list[str] = list(ctx.find_root().obj or ())
    if not args or not args[-1].startswith("-"):
        return ctx.params
    at = 0
    for name in ctx.command_path.split()[1:]:
        at = args.index(name, at) + 1
    return ctx.command.make_context(ctx.info_name, args[at:-1], parent=ctx.parent, resilient_parsing=True).params


def _file(params: dict[str, Any]) -> Path:
    """The project file of the line."""
    return project_file(Path(params.get("project") or Path()))


def _state(params: dict[str, Any]) -> tuple[Path | None, str]:
    """The file of the state, None if it is on a server, in a bucket or unknown; and the name of the project, "" if unknown."""
    file = _file(params)
    text = read_file(file, FILE_MAX)
    match = _PROJECT.search(text.decode("utf-8", "replace"))
    given = params.get("state") or os.environ.get(STATE)
    environment = file.parent / "environments" / f"{params.get('env')}.yaml"
    if not given and params.get("env") and environment.is_file():
        own = read_file(environment, FILE_MAX)
        text = own if b"state:" in own else text
    return state_path(file.parent, text, given), match[1] if match else ""


def state_path(root: Path, text: bytes, given: str | None) -> Path | None:
    """The file of the state, as far as it is known without evaluating YAML. `text`: the project file; `given`: the URL that was passed."""
    if given:
        path = file_of(given)
        return Path(path) if path and "?" not in path else None
    keys, lines = _STATE_KEY.findall(text), _STATE_LINE.findall(text)
    if not keys:
        return root / ".reconciler" / "state.db"
    return root / os.fsdecode(lines[0]) if len(keys) == len(lines) == 1 else None
