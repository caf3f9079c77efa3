"""The engine is generic: it is handed the kinds and never names one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

from reconciler.kinds import load
from tests.proofs import costly
from tests.sources import PACKAGE, nodes, package

ENGINE = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ("kinds", "sandbox"))

HISTORY = {
    "state/tables/migrations.py": {"member"},  # what older versions wrote is told apart as they wrote it, whatever the kinds are today
}
SAME_WORD_OTHER_MEANING = {
    "resource/risks.py": {"admin", "members"},  # a level of access, a class of readers
    "cli/commands/sandbox_control.py": {"admin", "members"},  # a reader, as the sandbox calls it
    "model/desired.py": {"member", "team"},  # how a test names its reader
    "features/testing/keys.py": {"site"},  # a key of an expectation, whatever the kind is called
    "features/rehearsal/moments.py": {"member", "members"},  # a reader, as the sandbox calls it
    "features/rehearsal/predictions.py": {"member", "members"},  # the same
    "features/rehearsal/preview.py": {"sites"},  # a key of the data of a preview
    "features/rehearsal/page/first_screen.py": {"sites", "space"},  # a key of the document of a rehearsal; a word in sentences
    "features/rehearsal/report.py": {"sites"},  # the same key
    "features/mcp/prompts.py": {"site", "space"},  # arguments of prompts, in the words of people
    "features/mcp/tools.py": {"site"},  # an argument of urls, and a word of a sentence
    "resource/field.py": {"member"},  # Role.MEMBER: a field that is a membership
    "config/keys.py": {"member", "site"},  # service.member, health.search.site: keys of the project file
    "config/url_keys.py": {"sites"},  # urls.sites: a key of the project file
    "features/urls/section.py": {"sites"},  # what urls.sites says
    "features/urls/model/redirects.py": {"sites"},  # the same key
    "features/urls/report/section.py": {"site", "space", "spaces"},  # keys of a document: what publishes a page, and what contains it
    "yamltext/format.py": {"sites"},  # the same key
    "features/urls/report/ledger.py": {"site"},  # a key of a document: what publishes a URL
    "features/health/site/report.py": {"site", "space"},  # a key of the document about one; a word of a sentence
    "features/urls/report/redirects.py": {"site"},  # the same key
    "features/urls/tables/ledger.py": {"site"},  # a column: what publishes a URL
    "state/transfer.py": {"site"},  # the same column
    "fleet/declared/keys.py": {"organizations"},  # a sort of generator: a word of the fleet file
    "fleet/declared/schema.py": {"organizations"},  # the same
    "fleet/declared/template.py": {"organizations"},  # the same
    "fleet/model.py": {"organizations"},  # the same
    "fleet/program/listing.py": {"organizations"},  # the same
    "fleet/people/roles.py": {"admin"},  # a role in a fleet
    "state/__init__.py": {"group"},  # the module `group`: intents and outcomes that are one transaction
}


def names() -> frozenset[str]:
    """Every name by which a kind could be told from another: its own, its objects' constant, its list in a seed, the role of its admins."""
    found: set[str] = set()
    for kind in load().values():
        found |= {kind.name, kind.object, *([kind.seeds] if kind.seeds else []), *([kind.scarce.scarce] if kind.scarce is not None else [])}
    return frozenset(found)


def strings(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every string literal of a module but the docstrings, with its line."""
    docs = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value, node.lineno


@cache
def literals() -> list[tuple[str, str, int]]:
    """Every string literal of the engine with its module and line."""
    package()
    return [(str(path.relative_to(PACKAGE)), text, line) for path in ENGINE for text, line in strings(nodes(path))]


@costly
def test_no_kind_is_named_in_the_engine() -> None:
    kinds = names()
    allowed = {(module, word) for table in (SAME_WORD_OTHER_MEANING, HISTORY) for module, words in table.items() for word in words}
    assert [f"{module}:{line}: {text!r}" for module, text, line in literals() if text in kinds and (module, text) not in allowed] == []


def test_no_path_of_the_service_is_in_the_engine() -> None:
    first = {verb.path.split("/")[1] for kind in load().values() for verb in kind.api.values()}
    pattern = re.compile(rf"(^|/)({'|'.join(sorted(first))})/\{{?")
    assert [f"{module}:{line}: {text!r}" for module, text, line in literals() if pattern.search(text)] == []


def test_the_engine_is_where_this_test_looks_for_it() -> None:
    assert {path.stem for path in ENGINE} >= {"preconditions", "choose", "recover", "diff", "match", "schedule", "undeclared"}


def test_a_named_kind_would_be_found() -> None:
    walked = [*ast.walk(ast.parse('def f(kind):\n    "space"\n    if kind.name == "space":\n        pass\n'))]
    assert [(text, line) for text, line in strings(walked) if text in names()] == [("space", 3)]
