"""The vocabulary of declarations: no word that no kind uses, and every word that one kind uses is counted in decision 0001."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from reconciler import resource

ROOT = Path(__file__).parents[2]
KINDS = sorted(path for path in (ROOT / "reconciler" / "kinds").glob("*.py") if path.stem != "__init__")
PAGE = (ROOT / "docs" / "decisions" / "0001-kinds-are-declarations.md").read_text(encoding="utf-8")
VERBS = ("POST", "PUT", "PATCH", "DELETE")
CALLS = (
    "Audience", "Grant", "Keyed", "Permission", "Listing", "Needed", "ListItem", "Lookup", "Pages", "One", "PublishedField", "Sighting",
    "SingleValue", "choice", "field", "first", "inside", "local", "member_of", "one_per", "output", "seed", "within",
)  # fmt: skip


# Attributes of `Field` that only the function of their role sets, its class, or a run.
NOT_OF_FIELD = {
    "name", "type", "role", "to", "cascade", "one_per", "flag", "child_field", "join", "leave", "label", "copies", "digest_key", "secrets",
    "incidental",
}  # fmt: skip
# Attributes of `Kind` that its class fills in.
NOT_OF_KIND = {"name", "doc", "place", "reads", "api", "fields", "one_per"}


def parameters(name: str) -> Iterator[str]:
    """The words that a call can say besides what it must say."""
    if name == "field":
        yield from {attribute.name for attribute in fields(resource.Field)} - NOT_OF_FIELD - {"doc", "on"}
    if name == "inside":
        yield from ("wire", "on_change", "cascade", "key", "read")
    for word, parameter in inspect.signature(getattr(resource, name)).parameters.items():
        if parameter.default is not parameter.empty and word not in ("doc", "single"):  # `single` is what `one_per` compiles to
            yield word


def vocabulary() -> set[str]:
    verb_words = {field.name for field in fields(resource.Verb)} - {"method", "path", "name"}
    return {
        *({attribute.name for attribute in fields(resource.Kind)} - NOT_OF_KIND),
        *(f"verb({name}=)" for name in verb_words),
        *(f"{name}()" for name in CALLS),
        *(f"{name}({word}=)" for name in CALLS for word in parameters(name)),
    }


def said(tree: ast.AST) -> Iterator[str]:
    """Every word that a module says; what a call is given by its place counts as the parameter of that place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id == "Resource" for base in node.bases):
            yield from (keyword.arg for keyword in node.keywords if keyword.arg is not None)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name, given = node.func.id, [keyword.arg for keyword in node.keywords]
            if name in VERBS:
                yield from (f"verb({word}=)" for word in given)
            elif name in CALLS:
                by_place = list(inspect.signature(getattr(resource, name)).parameters)[: len(node.args)]
                yield f"{name}()"
                yield from (f"{name}({word}=)" for word in (*given, *by_place))


def users() -> dict[str, set[str]]:
    """The modules that say each word of the vocabulary."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in KINDS:
        for word in said(ast.parse(path.read_text(encoding="utf-8"))):
            found[word].add(path.stem)
    return {word: found[word] for word in vocabulary()}


def test_no_word_is_there_that_no_kind_uses() -> None:
    assert {word for word, kinds in users().items() if not kinds} == set()


def test_the_words_that_one_kind_uses_are_those_that_the_decision_counts() -> None:
    once = {word: kinds for word, kinds in users().items() if len(kinds) == 1 and not any(kind.startswith("_") for kind in kinds)}
    section = PAGE.partition("## Words that one kind uses\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+`) \| ([\w-]+) \|", section, flags=re.MULTILINE)
    assert {word: {kind.replace("-", "_")} for words, kind in rows for word in re.findall(r"`([^`]+)`", words)} == once


@pytest.mark.parametrize("name", ["agent_instructions", "adaptive_schema", "installation", "integration", "translation"])
def test_a_kind_is_forty_lines_besides_its_imports_and_types_of_values(name: str) -> None:
    text = (ROOT / "reconciler" / "kinds" / f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    own = [
        node
        for node in ast.parse(text).body
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)
        and not (isinstance(node, ast.ClassDef) and ast.unparse(node.bases[0]) == "TypedDict")
        and not (isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("Annotated["))
    ]
    assert sum(line.strip()[:1] not in ("", "#") for node in own for line in lines[node.lineno - 1 : node.end_lineno]) <= 40
