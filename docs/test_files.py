"""The reference of test files, from the table that also reads and checks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from reconciler.config.key import Key
from reconciler.features.testing import keys as k

INTRO: Final = """\
# Test files

The keys of files that [`reconciler test`](../testing.md) runs: `tests/*.yaml` and `*.test.yaml` beside the project file.
`reconciler schema test` prints them as a JSON Schema for editors. A file can also contain `examples`, `policies` and `use`, as
[`policy test`](../policies.md#test-a-policy) reads them; keys that begin with `x-` are ignored.

This page is generated from the table that checks test files.
"""
PARTS: Final = (
    ("A test", "An item of `tests`.", k.TEST),
    ("A step", "An item of `steps`: the word `apply` or `plan`, or a map with one of `apply`, `plan`, `edit`, `delete` and `api`.", k.STEP),
)
EXPECTATIONS: Final = (
    ("What a reader can read", "Patterns match declared resources; the rest is as in [`access`](../access.md).", k.READERS),
    ("What a URL shows", "One of `shows`, `title` and `answers` is required.", k.PAGE),
    ("What a plan does", "One of them is required; both are about a fresh plan after the last step.", k.PLAN),
    ("What is blocked", "", k.BLOCKED),
    ("The value of a field", "Parts of a value follow its name: `acme/site/docs.adaptiveContent.enabled`.", k.FIELD),
    ("What is refused", "A test without it fails if its last apply is refused.", k.REFUSED),
    ("A snapshot of the plan", "`reconciler test --update` writes it.", k.SNAPSHOT),
)


def page() -> str:
    """The page."""
    parts = [INTRO]
    for title, about, keys in PARTS:
        parts += [f"## {title}\n", f"{about}\n", _table(keys)]
    parts += ["## An expectation\n", "An item of `expect`: one of the following maps.\n"]
    for title, about, keys in EXPECTATIONS:
        parts += [f"### {title}\n", *([f"{about}\n"] if about else []), _table(keys)]
    return "\n".join(parts)


def _table(keys: Iterable[Key]) -> str:
    rows = [row for key in keys for row in _rows(key)]
    return "\n".join(["| key | meaning | default |", "|---|---|---|", *rows, ""])


def _rows(key: Key, within: str = "") -> Iterator[str]:
    inner = key.keys if key.form == "map" else k.APPLY if key.name == "apply" else ()
    options = f"One of {', '.join(key.options)}." if key.options and not all(option in key.doc for option in key.options) else ""
    default = "required" if key.required else f"`{key.default}`" if key.default is not None else ""
    text = " ".join(part for part in (key.doc, options, key.more) if part)
    yield f"| `{within}{key.name}` | {text} | {default} |".replace("|  |", "| |")
    for part in inner:
        yield from _rows(part, f"{within}{key.name}.")
