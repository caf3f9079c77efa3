"""Values of variables from `--var-file`: files, or the output of a command on standard input.

In: the name and the bytes of each file. Out: the entries by name, each at its line; a later file wins. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from reconciler.config.source import json_text
from reconciler.config.source.nodes import Map, MapEntry, Scalar
from reconciler.config.source.problems import Problems, described, empty, wrong_form
from reconciler.config.source.reader import read

STANDARD_INPUT: Final = "standard input"


class VariableFile(NamedTuple):
    """A file of variables. `name`: as problems name it; `text`: its bytes."""

    name: str
    text: bytes


def read_files(files: Sequence[VariableFile], problems: Problems) -> dict[str, MapEntry]:
    """The values in the files, by the name of the variable; reports entries that are not a map of names and values."""
    given: dict[str, MapEntry] = {}
    for file in files:
        document = json_text.document(file.text, file.name) or read(file.text, file.name)
        for problem in document.problems:
            problems.settle(problem)
        node = document.data
        if isinstance(node, Map):
            given |= {entry.key: entry for entry in node.entries.values() if _is_value(entry, problems)}
        elif node is not None:
            problems.add(node.at, f"a file of variables must be a map of names and values, not {described(node)}", id=wrong_form(node))
    return given


def _is_value(entry: MapEntry, problems: Problems) -> bool:
    if isinstance(entry.node, Scalar) and entry.node.empty:
        problems.add(entry.node.at, empty(entry.key), id="RC-no-value")
        return False
    return True
