"""The effective configuration as YAML: every expression replaced by its value, with the expression behind it as a comment.

In: a project that `load` accepts. Out: a text for each file. What came from the environment is hidden unless it was made public.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from reconciler.config.language.evaluate import IGNORED, Evaluation, Files
from reconciler.config.language.expressions import holds_expression
from reconciler.config.language.variables import Variables, read_variables
from reconciler.config.project import PROJECT_FILE
from reconciler.config.settings import STATE, databases
from reconciler.config.source.includes import included
from reconciler.config.source.nodes import UNREAD, Entry, List, Map, Node, Problems, Scalar, plain, scalars
from reconciler.config.words import Service
from reconciler.errors import ConfigError
from reconciler.text.printable import replaced

HIDDEN: Final = "(hidden)"
_PLAIN: Final = re.compile(r"[^\s\W][\w ./@+-]*", re.ASCII)


def rendered(
    path: Path,
    *,
    environment: str | None = None,
    variables: Mapping[str, str] = {},
    public: Collection[str] = (),
    environ: Mapping[str, str] = {},
) -> dict[str, str]:
    """The text of each file by name, the project file first. Raises `ConfigError`; the arguments are those of `load`."""
    file = path / PROJECT_FILE if path.is_dir() else path
    problems = Problems([])
    files = Files(file.parent.resolve(), problems)
    top = files.read(file.name)
    if not isinstance(top, Map):
        raise ConfigError(problems.found)
    declared = top.entries.pop("vars", None)
    given = read_variables(declared, variables, public, environ, problems)
    names = included(files.root, file.name, top.entries.pop("include", None), problems)
    documents = {file.name: top, **{name: made for name in names if isinstance(made := files.read(name), Map)}}
    expressions = {
        (one.at.file, one.at.line, one.at.column): one.text
        for document in documents.values()
        for one in scalars(document)
        if holds_expression(one.text)
    }
    evaluation = Evaluation(files.root, given, environment, problems)
    evaluation.top(top, Service.SECTION, STATE)
    evaluation.refuse(databases(top, files.root))
    for document in documents.values():
        evaluation.top(document)
    if problems.found:
        raise ConfigError(problems.found)
    texts = {name: "\n".join(_map(_effective(document), 0, expressions)) + "\n" for name, document in documents.items()}
    head = "".join(_variables(given, _origins(declared, variables, environ)))
    return {**texts, file.name: head + texts[file.name]}


def _effective(document: Map) -> Map:
    """Without the keys that are ignored."""
    return Map(document.at, {key: entry for key, entry in document.entries.items() if not key.startswith(IGNORED)})


def _origins(declared: Entry | None, passed: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Who gave each variable its value."""
    words = plain(declared.node) if declared is not None else {}
    named = {name: one.get("env") for name, one in words.items()}
    return {name: "--var" if name in passed else str(env) if env in environ else "its default" for name, env in named.items()}


def _variables(given: Variables, origins: Mapping[str, str]) -> Iterator[str]:
    """A comment for each variable: its value, and who gave it."""
    for name, value in given.values.items():
        shown = HIDDEN if name in given.tainted else replaced(json.dumps(value, ensure_ascii=False))
        yield f"# vars.{name} = {shown}, from {origins[name]}\n"
    yield "\n" if given.values else ""


def _map(node: Map, indent: int, expressions: Mapping[tuple[str, int, int], str]) -> list[str]:
    lines = []
    for key, entry in node.entries.items():
        lines += _value(f"{' ' * indent}{_text(key)}:", entry.node, indent, expressions)
    return lines


def _value(begin: str, node: Node, indent: int, expressions: Mapping[tuple[str, int, int], str]) -> list[str]:
    """What stands behind a key or a dash, in lines of its own where it holds something."""
    origin = expressions.get((node.at.file, node.at.line, node.at.column))
    remark = f"  # {' '.join(origin.split())}" if origin is not None else ""
    match node:
        case Scalar():
            return [f"{begin} {_scalar(node)}{remark}".rstrip()]
        case Map(entries=entries) if entries:
            return [f"{begin}{remark}", *_map(node, indent + 2, {} if remark else expressions)]
        case List(items=items) if items:
            inner = {} if remark else expressions
            return [f"{begin}{remark}", *(line for one in items for line in _value(f"{' ' * (indent + 2)}-", one, indent + 2, inner))]
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
