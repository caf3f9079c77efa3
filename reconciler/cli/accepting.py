"""`drift --accept`: living values go into the project's files, and the plan proves that nothing of them is left to change."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import ConfigError, ReconcilerError

if TYPE_CHECKING:
    from reconciler.cli.options import Options
    from reconciler.cli.run import Planned
    from reconciler.cli.screen import Screen
    from reconciler.config import Project
    from reconciler.drift import Drift
    from reconciler.resource import Kinds
    from reconciler.writing.accept import Accepted

CRLF = "\r\n"
BOM = "\ufeff"


def accept(screen: Screen, options: Options, kinds: Kinds, project: Project, planned: Planned, drift: Drift, words: Sequence[str]) -> None:
    """Write what the words name. Raises `Refused` or `UsageError` before anything is written; files are as before where it fails."""
    from reconciler.plan import match
    from reconciler.writing.accept import Acceptance, chosen

    root = project.settings.root
    before: dict[str, str] = {}

    def text(file: str) -> str:
        if file not in before:
            before[file] = (root / file).read_bytes().decode("utf-8")
        return before[file].removeprefix(BOM).replace(CRLF, "\n")

    picked = chosen(drift, words)
    ids = match(kinds, project.desired, planned.state, planned.actual).ids
    texts = Acceptance(kinds, project.desired, planned.actual, ids, text).edited(picked)
    for file, made in texts.items():
        _write(root / file, _as_it_was(made, before[file]))
    try:
        _prove(screen, options, kinds, planned, picked)
    except ReconcilerError:
        for file in texts:
            _write(root / file, before[file])
        raise
    for each in picked:
        screen.out(f"{each} is written in {each.one.source.file}.\n" if each.one.source is not None else f"{each} is written.\n")


def _as_it_was(text: str, before: str) -> str:
    """The new text with the file's own line breaks and byte order mark."""
    return (BOM if before.startswith(BOM) else "") + (text.replace("\n", CRLF) if CRLF in before else text)


def _write(path: Path, text: str) -> None:
    """Replace a file at once; a link stays one, and who may read it stays as it is."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
        os.chmod(name, path.stat().st_mode & 0o7777)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _prove(screen: Screen, options: Options, kinds: Kinds, planned: Planned, picked: Sequence[Accepted]) -> None:
    """Raise `ReconcilerError` where the files are no project any more, or still want one of the fields changed."""
    from reconciler.cli.connect import load
    from reconciler.plan import plan

    try:
        desired = load(screen, options, kinds).desired
    except ConfigError as error:
        raise ReconcilerError(f"the files would not be valid with that, and are as before: {error.message}") from None
    again: Mapping[object, object] = {
        (address, delta.name): delta
        for address, deltas in plan(kinds, desired, planned.state, planned.actual).differing.items()
        for delta in deltas
    }
    left = [str(each) for each in picked if (each.one.address, each.delta.name) in again]
    if left:
        raise ReconcilerError(f"the YAML could not be made to say it, and is as before: {', '.join(left)}", hint="Write it by hand.")
