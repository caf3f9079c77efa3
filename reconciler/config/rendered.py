"""The effective configuration as YAML: every expression replaced by its value, with the expression as a comment after it.

In: a project that `load` accepts. Out: a text for each file. Values from the environment are hidden unless they are public. Secrets are not
decrypted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Unpack

from reconciler.config.language.variables import Variables
from reconciler.config.project import PROJECT_ONLY, Loading, LoadOptions
from reconciler.config.source.nodes import UNREAD, Enough, List, Map, Node, Problems, Scalar, holds_expression, scalars
from reconciler.config.words import IGNORED
from reconciler.dataclass import dataclass
from reconciler.errors import ConfigError
from reconciler.resource import Kinds
from reconciler.text.escape import replaced

HIDDEN: Final = "(hidden)"
_PLAIN: Final = re.compile(r"[^\s\W][\w ./@+-]*", re.ASCII)


def rendered(path: Path, kinds: Kinds, **options: Unpack[LoadOptions]) -> dict[str, str]:
    """The text of each file by name, the project file first. Raises `ConfigError`; the options are those of `load`."""
    problems = Problems([])
    expressions: dict[tuple[str, int, int], str] = {}

    def look(document: Node) -> None:
        for scalar in scalars(document):
            if holds_expression(scalar.text):
                expressions[(scalar.at.file, scalar.at.line, scalar.at.column)] = scalar.text

    access = replace(options.get("access", PROJECT_ONLY), decrypt=False)
    loading = Loading(path, kinds, problems, {**options, "access": access}, look=look)
    with suppress(Enough):
        loading.run()
    if problems.found:
        raise ConfigError(problems.found)
    texts = {}
    for name, document in loading.documents.items():
        texts[name] = "\n".join(_Printer(name, expressions, loading.changed, loading.generated).document(document)) + "\n"
    top = next(iter(texts))
    head = "".join(_variables(loading.given))
    return {**texts, top: head + texts[top]}


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
            return self._map(_effective(document), 0)
        return self._items(document.items, 0) if isinstance(document, List) else []

    def _map(self, node: Map, indent: int) -> list[str]:
        lines = []
        for written in node.entries.values():
            for entry in self.generated.get(id(written.node), [written]):
                value = self.changed.get(id(entry.node), entry.node)
                if value is not None:
                    lines += self._value(f"{' ' * indent}{_text(entry.key)}:", value, indent)
        return lines

    def _items(self, items: list[Node], indent: int) -> list[str]:
        every = [one for written in items for one in self.generated.get(id(written), [written])]
        found = [value for one in every if (value := self.changed.get(id(one), one)) is not None]
        return [line for one in found for line in self._value(f"{' ' * indent}-", one, indent)]

    def _value(self, begin: str, node: Node, indent: int) -> list[str]:
        """The text of a value after its key or dash: maps and lists on lines of their own, and the origin as a comment."""
        later = isinstance(node, Scalar) and node.value is UNREAD and holds_expression(node.text)  # of a policy: shown as written
        origin = None if later else self.expressions.get((node.at.file, node.at.line, node.at.column))
        parts = [" ".join(origin.split())] if origin is not None else []
        if node.at.file != self.file:
            parts.append(f"from {node.at.file_and_line}")
        remark = f"  # {', '.join(parts)}" if parts else ""
        inner = replace(self, file=node.at.file, expressions={} if remark else self.expressions)
        match node:
            case Scalar():
                return [f"{begin} {_scalar(node)}{remark}".rstrip()]
            case Map(entries=entries) if entries:
                return [f"{begin}{remark}", *inner._map(node, indent + 2)]
            case List(items=items) if items:
                return [f"{begin}{remark}", *inner._items(items, indent + 2)]
            case _:
                return [f"{begin} {'{}' if isinstance(node, Map) else '[]'}{remark}"]


def _scalar(node: Scalar) -> str:
    if node.taint:
        return HIDDEN
    if node.value is UNREAD:
        return node.text if node.plain and "\n" not in node.text else _text(node.text, quote=not node.plain)
    value: Any = node.value
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str, *, quote: bool = False) -> str:
    """A text in double quotes, unless it is plainly one without them."""
    return text if not quote and _PLAIN.fullmatch(text) and not text.endswith(" ") else replaced(json.dumps(text, ensure_ascii=False))
