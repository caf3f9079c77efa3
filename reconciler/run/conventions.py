"""The conventions of a repository for agents: the one text that an agent may follow, because whoever reviews the repository wrote it."""

from __future__ import annotations

from reconciler.config import Project
from reconciler.config.keys import CONVENTIONS_MAX
from reconciler.config.language.bounds import ExpressionError
from reconciler.config.language.files import ProjectFiles
from reconciler.errors import UsageError
from reconciler.links import repository


def conventions(project: Project) -> str:
    """The text of `agents.conventions`; "" without the key. Raises `UsageError` for a file outside the repository, or a large one."""
    settings = project.settings
    if settings.conventions is None:
        return ""
    where = f"agents.conventions: {settings.conventions}"
    hint = f"Name a file of this repository with at most {CONVENTIONS_MAX // 1_000} KB, such as AGENTS.md."
    top = repository(settings.root)
    try:
        text = ProjectFiles(settings.root, allowed=[] if top is None else [top], option="")(settings.conventions)
    except ExpressionError as error:
        raise UsageError(f"{where} cannot be read: {error.message}", id=error.id, hint=hint) from None
    if len(text.encode()) > CONVENTIONS_MAX:
        raise UsageError(f"{where} is larger than {CONVENTIONS_MAX // 1_000} KB", id="RC-file-too-large", hint=hint)
    return text
