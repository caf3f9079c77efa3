"""A YAML text as a document that remembers its comments, and back. Pure."""

from __future__ import annotations

from io import StringIO
from typing import Any, Final

from ruamel.yaml import YAML

WIDTH: Final = 4096  # long lines are never broken


def read(text: str) -> Any:
    """The document: maps and lists that keep comments, quotes and order. Raises ruamel's `YAMLError`."""
    return _yaml().load(text)


def write(document: Any) -> str:
    """The text of a document that `read` gave, or that was put together of plain maps and lists."""
    into = StringIO()
    _yaml().dump(document, into)
    return into.getvalue()


def _yaml() -> YAML:
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.allow_unicode = True
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml
