"""The effective configuration as YAML: every expression replaced by its value, with the expression as a comment after it.

In: a project that `load` accepts. Out: a text for each file, which `load` reads as the same project. Values from the environment are hidden
unless they are public. Secrets are not decrypted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Unpack

from reconciler.config.keys import IGNORED
from reconciler.config.language.variables import Variables
from reconciler.config.project import PROJECT_ONLY, Loading, LoadOptions
from reconciler.config.settings import Project
from reconciler.config.source.includes import INCLUDE
from reconciler.config.source.nodes import (
    ESCAPED,
    HOLE_OPENING,
    UNREAD,
    List,
    Map,
    MapEntry,
    Node,
    Scalar,
    holds_expression,
    lifted,
    scalars,
)
from reconciler.config.source.problems import Problems
from reconciler.errors import ConfigError
from reconciler.resource import Kinds
from reconciler.text.escape import replaced

HIDDEN: Final = "(hidden)"
_PLAIN: Final = re.compile(r"[A-Za-z]([\w ./@+-]*[\w./@+-])?", re.ASCII)
_TYPED: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})  # of some version of YAML
NAMES: Final = ("sees", "mustNotSee")
_COMMAND: Final = "##"  # some pipelines take a command from it, wherever in a line it is


def rendered(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> dict[str, str]:
    """The text of each file by name, the project file first. Raises `ConfigError`; the options are those of `load`."""
    problems = Problems([])
    expressions: dict[tuple[str, int, int], str] = {}

    def look(document: Node) -> None:
        for scalar in scalars(document):
            if holds_expression(scalar.text):
                expressions[scalar.at] = scalar.text

    access = replace(options.get("access", PROJECT_ONLY), decrypt=False)
    loading = Loading(path, kinds, problems, {**options, "access": access}, look=look)
    project: Project | None = None
    with problems.raised():
        project = loading.run()
    if project is None:
        raise ConfigError(problems.found)
    texts = {}
    documents = dict(loading.documents)
    top = next(iter(documents))
    documents[top] = _whole(documents[top], loading, project)
    for name, document in documents.items():
        texts[name] = "\n".join(_Printer(name, expressions, loading.changed, loading.generated).document(document)) + "\n"
    head = "".join(_variables(loading.given))
    return {**texts, top: head + texts[top]}


def _whole(document: Node, loading: Loading, project: Project) -> Node:
    """The project file with what is read apart from the rest: the files that it includes, the variables that policies use, and what its
    environment says about removed resources."""
    if not isinstance(document, Map):
        return document
    entries, at = dict(document.entries), document.at
    if loading.include is not None:
        entries[INCLUDE] = loading.include
    if used := project.desired.policies.variables:
        entries["vars"] = MapEntry("vars", at, lifted({name: {"default": value} for name, value in used.items()}, document.at))
    for more in loading.overlay.removed if loading.overlay is not None else ():
        own = entries.get("removed")
        both = [node for entry in (own, more) if entry is not None and isinstance(entry.node, List) for node in entry.node.items]
        entries["removed"] = MapEntry("removed", at, List(at, both))
    return Map(at, entries)


def _effective(document: Map) -> Map:
    """Without the keys that are ignored."""
    return Map(document.at, {key: entry for key, entry in document.entries.items() if not key.startswith(IGNORED)})


def _variables(given: Variables) -> Iterator[str]:
    """A comment for each variable: its value, and its source."""
    for name, value in given.values.items():
        shown = HIDDEN if name in given.tainted else replaced(json.dumps(value, ensure_ascii=False))
        yield f"# vars.{name} = {shown}, from {given.origins[name]}\n"
    yield "\n" if given.values else ""


@dataclass(frozen=True)
class _Printer:
    """Prints the nodes of one file. `expressions`: by place. `changed`: the replacements of nodes by patches, by identity; `generated`: the
    results of `forEach`."""

    file: str
    expressions: Mapping[tuple[str, int, int], str]
    changed: Mapping[int, Node | None]
    generated: Mapping[int, list[Any]]

    def document(self, document: Node) -> list[str]:
        """The lines of the file."""
        if isinstance(document, Map):
            return self._map(_effective(document), 0) or ["{}"]
        return self._items(document.items, 0) or ["[]"] if isinstance(document, List) else []

    def _map(self, node: Map, indent: int) -> list[str]:
        lines = []
        for written in node.entries.values():
            for entry in self.generated.get(id(written.node), [written]):
                value = self.changed.get(id(entry.node), entry.node)
                if entry.key == INCLUDE and isinstance(value, List):
                    names = [_quoted(name.text) for name in value.items if isinstance(name, Scalar)]
                    lines.append(f"{' ' * indent}{INCLUDE}: [{', '.join(names)}]")
                elif entry.key in NAMES and isinstance(value, List) and value.computed and not value.items:
                    lines.append(f"{' ' * indent}{entry.key}: ${{{{ [] }}}}")  # [] is an error where no expression gives it
                elif value is not None:
                    lines += self._value(f"{' ' * indent}{_text(entry.key)}:", value, indent)
        return lines

    def _items(self, items: list[Node], indent: int) -> list[str]:
        every = [item for written in items for item in self.generated.get(id(written), [written])]
        values = [value for item in every if (value := self.changed.get(id(item), item)) is not None]
        return [line for value in values for line in self._value(f"{' ' * indent}-", value, indent)]

    def _value(self, begin: str, node: Node, indent: int) -> list[str]:
        """The text of a value after its key or dash: maps and lists on lines of their own, and the origin as a comment."""
        later = isinstance(node, Scalar) and node.value is UNREAD and holds_expression(node.text)  # of a policy: shown as written
        origin = None if later else self.expressions.get(node.at)
        parts = [" ".join(origin.split())] if origin is not None else []
        if node.at.file != self.file:
            parts.append(f"from {node.at.file_and_line}")
        remark = f"  # {', '.join(parts).replace(_COMMAND, '# #')}" if parts else ""
        if isinstance(node, Scalar):
            return [f"{begin} {_scalar(node)}{remark}".rstrip()]
        inner = replace(self, file=node.at.file, expressions={} if remark else self.expressions)
        lines = inner._map(node, indent + 2) if isinstance(node, Map) else inner._items(node.items, indent + 2)
        return [f"{begin}{remark}", *lines] if lines else [f"{begin} {'{}' if isinstance(node, Map) else '[]'}{remark}"]


def _scalar(node: Scalar) -> str:
    """A scalar: an expression's value in a form that is not read as another type, any other as it is written."""
    if node.taint:
        return HIDDEN
    if node.value is UNREAD:
        return node.text if node.plain and replaced(node.text) == node.text and _COMMAND not in node.text else _quoted(node.text)
    value: Any = node.value
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """A text in which nothing is an expression; in double quotes, unless it is plainly a text without them."""
    if _PLAIN.fullmatch(text) and text.lower() not in _TYPED:
        return text
    return _quoted(text.replace(HOLE_OPENING, ESCAPED))


def _quoted(text: str) -> str:
    return replaced(json.dumps(text, ensure_ascii=False)).replace(_COMMAND, "#\\u0023")
