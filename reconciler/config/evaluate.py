"""The files of a project as nodes, and expressions inside them as values."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from jinja2.sandbox import ImmutableSandboxedEnvironment

from reconciler.config.nodes import Entry, List, Map, Node, Problems, Scalar, lifted
from reconciler.config.variables import Variables
from reconciler.model import Source

_HOLE = re.compile(r"\$\$\{\{|\$\{\{(.*?)\}\}", re.DOTALL)


class Files:
    """Provisional: reads and evaluates well-formed projects only."""

    def __init__(self, root: Path, problems: Problems) -> None:
        self.root, self.problems = root, problems
        self.seen: list[Path] = []
        self._context: dict[str, Any] = {}
        self._jinja = ImmutableSandboxedEnvironment()

    def read(self, name: str) -> Node | None:
        path = self.root / name
        self.seen.append(path)
        made = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        return self._node(made, name)

    def _node(self, made: Any, name: str) -> Node:
        at = Source(name, made.start_mark.line + 1, made.start_mark.column + 1)
        if isinstance(made, yaml.MappingNode):
            entries = {}
            for key, value in made.value:
                where = Source(name, key.start_mark.line + 1, key.start_mark.column + 1)
                entries[key.value] = Entry(key.value, where, self._node(value, name))
            return Map(at, entries)
        if isinstance(made, yaml.SequenceNode):
            return List(at, [self._node(one, name) for one in made.value])
        return Scalar(at, made.value, not made.style)

    def included(self, entry: Entry | None, name: str) -> list[str]:
        if entry is None or not isinstance(entry.node, List):
            return []
        found: list[str] = []
        for one in entry.node.items:
            if isinstance(one, Scalar):
                paths = sorted(path.relative_to(self.root).as_posix() for path in self.root.glob(one.text))
                found += [path for path in paths if path not in found and path != name]
                if not paths:
                    self.problems.add(one.at, f'include "{one.text}" matches no file')
        return found

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
