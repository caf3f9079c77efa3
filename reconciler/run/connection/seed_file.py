"""The files of a sandbox: a seed with the position of every value, and the errors in it as problems of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.config.source.nodes import List, Map, Node, Scalar
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.errors import PROBLEMS_MAX, ConfigError, Problem, UsageError, os_reason
from reconciler.links import read_file
from reconciler.model import Source

# The sandbox is an extra, and most processes read no seed.
if TYPE_CHECKING:
    from reconciler.sandbox.seed_entries import SeedProblem


@dataclass(frozen=True)
class SeedFile:
    """A seed and where it was read. `document`: its data; `root`: the same with positions."""

    name: str
    document: Mapping[str, Any]
    root: Node

    def problem(self, problem: SeedProblem) -> Problem:
        """A problem of the seed at its position; of the whole file if it is not of a value in it."""
        at, node = self.root.at, self.root
        for part in problem.path:
            if isinstance(node, Map) and part in node.entries:
                entry = node.entries[str(part)]
                at, node = entry.at if problem.of_key else entry.node.at, entry.node
            elif isinstance(node, List) and isinstance(part, int) and part < len(node.items):
                node = node.items[part]
                at = node.at
            elif isinstance(node, List):
                return Problem(self.name, 0, 0, str(problem), id="RC-seed-invalid")  # an object that the project adds to the seed
        return Problem(self.name, at.line, at.column, str(problem), id="RC-seed-invalid")


@contextmanager
def seed_errors(file: SeedFile | None) -> Iterator[None]:
    """Turn the problems of a seed into `ConfigError` with positions; of a seed without a file, made from a project, into `UsageError`."""
    from reconciler.sandbox.seed_entries import SeedError  # the sandbox is an extra

    try:
        yield
    except SeedError as error:
        if file is None:
            raise UsageError(f"the seed is invalid: {error}", id="RC-seed-invalid") from error
        raise invalid(map(file.problem, error.problems)) from None


def invalid(problems: Iterable[Problem]) -> ConfigError:
    """The error for a seed with these problems."""
    listed = tuple(problems)
    return ConfigError(listed, more=len(listed) >= PROBLEMS_MAX, where="the seed", undone="loaded")


def read_seed(path: Path) -> SeedFile:
    """A seed, read as strictly as a project. Raises `ConfigError` with the positions of errors."""
    return _seed(_read(path), str(path))


def parsed_seed(text: bytes, name: str) -> SeedFile:
    """The same for the text of a file. `name`: its name in positions."""
    return _seed(_parsed(text, name), name)


def _seed(root: Node | None, name: str) -> SeedFile:
    document = _plain(root)
    if not isinstance(document, Mapping):
        raise UsageError(
            f"{name} is not a map of lists", id="RC-seed-invalid", hint="Example: organizations: [{id: org_acme, title: Acme}]"
        )
    return SeedFile(name, document, root or Map(Source(name, 1, 1), {}))


def read_document(path: Path) -> Any:
    """The contents of a YAML or JSON file, read as strictly as a project. Raises `ConfigError` with the positions of errors."""
    return _plain(_read(path))


def _read(path: Path) -> Node | None:
    try:
        text = read_file(path, FILE_MAX)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {os_reason(error)}", id="RC-file-not-read") from error
    return _parsed(text, str(path))


def _parsed(text: bytes, name: str) -> Node | None:
    document = read(text, name)
    if document.problems:
        raise invalid(document.problems)
    return document.data


def _plain(node: Node | None) -> Any:
    match node:
        case Map():
            return {key: _plain(entry.node) for key, entry in node.entries.items()}
        case List():
            return [_plain(item) for item in node.items]
        case Scalar():
            return None if node.empty else node.core()
        case None:
            return None
