"""The YAML files of a project as texts, checked for syntax; expressions, keys and references are not checked.

In: a project directory or file. Out: texts by name. Reads files below the project only.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from reconciler.config.environments.folder import files
from reconciler.config.keys import ENVIRONMENTS, project_file
from reconciler.config.source.files import Files, unreadable
from reconciler.config.source.includes import included
from reconciler.config.source.nodes import Map, Node
from reconciler.config.source.problems import Enough, Problems
from reconciler.config.source.split import Sections, Split, all_files
from reconciler.errors import ConfigError
from reconciler.links import leads_out
from reconciler.resource import Kinds


def texts(path: Path, kinds: Kinds) -> tuple[Path, dict[str, str]]:
    """The project's directory, and the texts of the project file, of what it includes and of its environments. Raises `ConfigError`."""
    file = project_file(path)
    wrong = unreadable(path, file)
    if wrong is not None:
        raise ConfigError([wrong])
    problems = Problems([])
    files = Files(file.parent.resolve(), problems)
    names = [file.name]
    with suppress(Enough):
        documents: dict[str, Node] = {}
        top = files.read(file.name)
        inner = included(files.root, file.name, top.entries.get("include"), problems) if isinstance(top, Map) else {}
        for name in (file.name, *inner):
            document = top if name == file.name else files.read(name)
            if document is not None:
                documents[name] = document
        environments = files_of_environments(files.root)
        for name in environments:
            files.read(name)
        names = all_files(Split(files, file.name, problems, dict(inner)), sections(kinds), documents) + environments
    if problems.found:
        raise ConfigError(problems.found)
    return files.root, {name: (files.root / name).read_bytes().decode("utf-8") for name in names}


def files_of_environments(root: Path) -> list[str]:
    """The files of the environments of a project that are inside it."""
    if not (root / ENVIRONMENTS).is_dir() or leads_out(root / ENVIRONMENTS, root) is not None:
        return []

    return [name for name in files(root) if leads_out(root / name, root) is None]


def sections(kinds: Kinds) -> Sections:
    """The names of the maps and lists that contain resources."""
    maps = {section for kind in kinds.values() for section in kinds.sections(kind.name)} | {
        kind.place.section_in(None) for kind in kinds.roots
    }
    return Sections(frozenset(maps), frozenset(section for kind in kinds.values() for section in kinds.lists(kind.name)))
