"""`reconciler.open`: arguments of a program become the options of a command line, and so the operation of a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from reconciler.cli.option_table import Options
from reconciler.errors import UsageError
from reconciler.interface.arguments import absolute, globs, limits_of
from reconciler.interface.calls import Voice
from reconciler.interface.project import OpenedProject
from reconciler.run.connection.memory import MemoryPlace
from reconciler.run.operation import Limits
from reconciler.run.supervision import Supervision
from reconciler.sandbox.file import MEMORY

NOTHING: Final = Limits()


def open(
    path: str | os.PathLike[str] = ".",
    *,
    environment: str | None = None,
    service: str | None = None,
    sandbox: str | os.PathLike[str] | None = None,
    token: str | None = None,
    state: str | None = None,
    create_state: bool = False,
    target: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    vars: Mapping[str, str] = MappingProxyType({}),
    limits: Limits = NOTHING,
    voice: Voice | None = None,
) -> OpenedProject:
    """Open a project, to plan it, apply it and ask about it. Use it in a `with` block, or call `close`.

    Only its settings are read here; each method reads the files again, so that it sees edits. A relative path is relative to the current
    folder of this moment.

    Args:
        path: The folder of the project, or its file. Unlike a command, it looks for no project above that folder.
        environment: The name of `environments/NAME.yaml`. None: the project without an environment.
        service: The URL of the service. None: `RECONCILER_BASE_URL`, or what the project says.
        sandbox: The file of an embedded sandbox, or `":memory:"`: service and state are in memory, begin with what the project assumes
            to exist, and end with the project; nothing of them is written to a disk. None: what the project says.
        token: The token of the service. None: `RECONCILER_TOKEN`. A sandbox needs none.
        state: The URL of the state. None: `RECONCILER_STATE`, or what the project says. With `":memory:"` there is none.
        create_state: Whether a state that has never seen the project may be created, where `state` or the environment names it, or where
            it is on a server.
        target: Patterns of addresses, such as `"acme/site/**"`. Empty: all.
        exclude: Patterns of addresses that are left out.
        vars: Variables by name; they win over `RECONCILER_VAR_NAME` of the environment.
        limits: What may be deleted, exposed, replaced and ended beyond the rules of the project. Without it, nothing.
        voice: A function that gets each sentence that a command would print beside its result, from another thread. None: nobody hears.

    Raises:
        ConfigError: The project file does not exist, or is invalid; `problems` has every problem with its file, line and column.
        UsageError: Arguments contradict each other, or a pattern is none.
    """
    memory = MemoryPlace() if sandbox is not None and os.fspath(sandbox) == str(MEMORY) else None
    for named, value in (("service", service), ("state", state)):
        if memory is not None and value is not None:
            hint = f"Leave out {named}, or name the file of a sandbox."
            raise UsageError(f'sandbox=":memory:" and {named} cannot be combined', id="RC-options-conflict", hint=hint)
    if sandbox is not None and service is not None:
        raise UsageError("sandbox and service cannot be combined", id="RC-options-conflict", hint="Pass one of them.")
    options = Options(
        project=Path(path).absolute(),
        env=environment,
        var={name: str(value) for name, value in vars.items()},
        target=globs("target", target),
        exclude=globs("exclude", exclude),
        sandbox=Path(sandbox).absolute() if sandbox is not None and memory is None else None,
        base_url=service,
        state=absolute(state),
        create_state=create_state,
        supervision=Supervision(memory=memory),
    )
    return OpenedProject(options, limits_of(limits), token=token, voice=voice)
