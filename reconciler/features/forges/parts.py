"""The parts of a comment, from the documents of commands, or for jobs that wrote none.

`mask`: hides secrets in any data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from reconciler.config.keys import project_file
from reconciler.errors import UsageError
from reconciler.features.forges.comment.part import CommentPart, PartOrigin, part
from reconciler.json_file import read_json
from reconciler.links import LinkRefused, read_file
from reconciler.report.reading import failed as failure, formats
from reconciler.report.schemas.documents import problem
from reconciler.report.sheet import Sheet
from reconciler.run.job import event

SIZE_MAX: Final = 64 * 2**20  # bytes of a document; a plan of 10,000 objects has about 13 million
PARTS_MAX: Final = 5_000_000
PROJECT_MAX: Final = 2**20  # characters of a project file that are searched
_PROJECT: Final = re.compile(r"""^project:[ ]+(["']?)([^"'#\n]*[^"'#\s])\1[ ]*(?:#.*)?$""", re.MULTILINE)


def read_parts(
    documents: Sequence[Path],
    failed: Sequence[str],
    origin: PartOrigin,
    *,
    name: str | None,
    spare: str | None,
    kind: str,
    mask: Callable[[Any], Any],
) -> tuple[list[CommentPart], list[str]]:
    """A part for each document and each failed job, and errors about files that are not documents.

    `name`: of all of them; `spare`, `kind`: of those without a document.
    """
    parts, wrong = [], []
    for path in documents:
        sheet, trouble = _sheet(path, named=(name or spare) is not None)
        wrong += [trouble] if trouble else []
        sheet = mask(sheet or failure(kind))
        parts.append(part(sheet, mask(name or _name(path, sheet, spare)), origin))
    parts += [part(failure(kind), mask(given), origin) for given in failed]
    keys = [shown.key for shown in parts]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        says = f"two documents are the {twice[1]} of {twice[0]!r}, and a comment shows one"
        raise UsageError(says, id="RC-part-twice", hint="Pass one, or give each its own --name.")
    return parts, wrong


def _name(path: Path, sheet: Sheet, spare: str | None) -> str:
    if sheet.project:
        return f"{sheet.project}/{sheet.environment}" if sheet.environment else sheet.project
    if spare is None:
        raise UsageError(
            f"{path} does not name its project", id="RC-part-without-name", hint="Add --project PATH, or --name PROJECT/ENVIRONMENT."
        )
    return spare


def name_of(project: Path, environment: str | None) -> str:
    """The name of the parts of a project, also if its files are invalid: as in its project file, else that of its folder."""
    file = project_file(project)
    try:
        match = _PROJECT.search(read_file(file, PROJECT_MAX).decode("utf-8", "replace"))
    except (OSError, LinkRefused):
        match = None
    name = match[2] if match is not None else (project.absolute() if project.is_dir() else project.absolute().parent).name
    return f"{name}/{environment}" if environment else name


def _sheet(path: Path, *, named: bool) -> tuple[Sheet | None, str | None]:
    """The sheet of a document, and the error if it is invalid. `named`: the part has a name, so that a missing document means a failed
    job."""
    try:
        return _read(path), None
    except OSError as error:
        if named and not path.exists():
            return None, None
        trouble = f"{path} cannot be read: {error}"
    except ValueError as error:
        trouble = f"{path} is not a document that a comment can show: {error}"
    if not named:
        raise UsageError(
            trouble,
            id="RC-part-unusable",
            hint="If its job failed, add --project PATH: the comment then says so in the part of that project.",
        )
    return None, trouble


def _read(path: Path) -> Sheet:
    shapes = formats()
    document = read_json(path, most=SIZE_MAX, parts=PARTS_MAX)
    format = document.get("format") if isinstance(document, dict) else None
    if not isinstance(format, str):
        raise ValueError("it has no format")
    if format not in shapes:
        raise ValueError(f"its format is {format[:60]!r}, not one of {', '.join(shapes)}")
    wrong = problem(shapes[format].shape, document)
    if wrong is not None:
        raise ValueError(wrong)
    try:
        return shapes[format].sheet(document)
    except (ValueError, OverflowError) as error:
        raise ValueError(str(error)) from None


def read_event(environ: Mapping[str, str]) -> Mapping[str, Any]:
    """The event that started a job of GitHub; empty if none is known."""
    try:
        return event(environ)
    except (OSError, ValueError):
        return {}
