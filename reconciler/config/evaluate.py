"""The files of a project as nodes, and expressions inside them as values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

from reconciler.config.nodes import List, Map, Node, Problems, lifted
from reconciler.config.reader import FILE_MAX, read
from reconciler.config.variables import Variables
from reconciler.errors import Problem

_HOLE = re.compile(r"\$\$\{\{|\$\{\{(.*?)\}\}", re.DOTALL)


class Files:
    """Provisional: reads and evaluates well-formed projects only."""

    def __init__(self, root: Path, problems: Problems) -> None:
        self.root, self.problems = root, problems
        self.seen: list[Path] = []
        self._context: dict[str, Any] = {}
        self._jinja = ImmutableSandboxedEnvironment()

    def read(self, name: str) -> Node | None:
        """The nodes of a file, expressions as they are written; None, with the problems noted, where it cannot be read."""
        path = self.root / name
        self.seen.append(path)
        try:
            with path.open("rb") as file:
                text = file.read(FILE_MAX + 1)
        except OSError as error:
            self.problems.settle(Problem(name, 0, 0, f"the file cannot be read: {error.strerror}"))
            self.problems.partial = True
            return None
        document = read(text, name)
        for problem in document.problems:
            self.problems.settle(problem)
        self.problems.partial |= document.data is None
        return document.data

    def context(self, given: Variables, environment: str | None) -> None:
        self._context = {
            "vars": given.values,
            "env": {"name": environment},
            "file": lambda name: (self.root / name).read_text(encoding="utf-8"),
            "json": json.loads,
        }

    def evaluated(self, node: Node) -> Node:
        if isinstance(node, Map):
            for entry in node.entries.values():
                entry.node = self.evaluated(entry.node)
        elif isinstance(node, List):
            node.items = [self.evaluated(one) for one in node.items]
        elif "${{" in node.text:
            return lifted(self._value(node.text), node.at)
        return node

    def _value(self, text: str) -> Any:
        whole = _HOLE.fullmatch(text)
        if whole is not None and whole[1] is not None:
            return self._hole(whole[1])
        return _HOLE.sub(lambda found: "${{" if found[1] is None else str(self._hole(found[1])), text)

    def _hole(self, text: str) -> Any:
        return self._jinja.compile_expression(text, undefined_to_none=False)(**self._context)
