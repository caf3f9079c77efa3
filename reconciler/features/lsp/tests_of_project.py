"""The problems of the test files of a project, as `test` reports them before it runs anything. Reads files.

A test that names another project or values of variables is checked as far as it says anything by itself: an editor loads one project.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from reconciler.config import Project
from reconciler.config.language.evaluate import Evaluation
from reconciler.config.source.nodes import Map
from reconciler.config.source.problems import Enough, Problems, described
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.errors import Problem
from reconciler.features.testing.declared import Header
from reconciler.features.testing.files import discovered, is_test_file
from reconciler.features.testing.keys import TESTS
from reconciler.features.testing.reading import TestReader, check_top, headers
from reconciler.links import LinkRefused, read_file
from reconciler.resource import Kinds

Loaded = Mapping[str | None, tuple[Project, Evaluation]]
"""The project in each environment that could be read, with what evaluated its expressions."""


def test_problems(root: Path, kinds: Kinds, loaded: Loaded, unsaved: Mapping[str, str]) -> list[Problem]:
    """The problems of all test files. `unsaved`: texts that count instead of those on the disk, by the names of files."""
    problems = Problems([])
    with suppress(Enough):
        _check_files(root, kinds, loaded, unsaved, problems)
    return problems.found


def _check_files(root: Path, kinds: Kinds, loaded: Loaded, unsaved: Mapping[str, str], problems: Problems) -> None:
    names = {path.relative_to(root).as_posix() for path in discovered(root)} | {name for name in unsaved if is_test_file(name)}
    for name in sorted(names):
        text = unsaved[name].encode() if name in unsaved else _text(root / name)
        nodes = read(text, name) if text is not None else None
        problems.found += nodes.problems if nodes is not None else ()
        if nodes is None or nodes.data is None or nodes.problems:
            continue
        if not isinstance(nodes.data, Map):
            problems.add(nodes.data.at, f"this must be a map with tests, not {described(nodes.data)}", id="RC-wrong-form")
            continue
        check_top(nodes.data, problems)
        for header in headers(nodes.data, problems) if TESTS in nodes.data.entries else ():
            _check(root / name, header, kinds, loaded, problems)


def _text(path: Path) -> bytes | None:
    try:
        content = read_file(path, FILE_MAX)
    except (OSError, LinkRefused):
        return None
    return content if len(content) <= FILE_MAX else None


def _check(path: Path, header: Header, kinds: Kinds, loaded: Loaded, problems: Problems) -> None:
    """Check the steps and the expectations of a test against the project."""
    chosen = header.environment[0] if header.environment is not None else next(iter(loaded), None)
    if chosen not in loaded or header.project is not None or header.variables or "expect" not in header.entries:
        return
    project, evaluation = loaded[chosen]
    own = Evaluation(path.parent.resolve(), evaluation.variables, chosen, problems)
    own.option, own.stand_ins, own.secrets = "", True, evaluation.secrets
    own.refuse(list(evaluation.refused))
    removed = {address: excluded.declared for address, excluded in project.desired.excluded.items()}
    reader = TestReader(kinds, project.desired.resources, problems, own.node, lambda address, values: {}, removed)
    for _ in (*reader.steps(header), *reader.expectations(header)):
        pass
