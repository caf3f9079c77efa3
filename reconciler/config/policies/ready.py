"""The ready policies, which `use` can name."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.config.source.nodes import List, Map, plain
from reconciler.config.source.reader import read

if TYPE_CHECKING:
    pass

FILE = "ready.yaml"


@lru_cache(maxsize=1)
def text() -> bytes:
    """Their file."""
    return Path(__file__).with_name(FILE).read_bytes()


def ready() -> dict[str, Map]:
    """The ready policies by id, each a node of its own."""
    document = read(text(), FILE).data
    assert isinstance(document, List)
    return {plain(node)["id"]: node for node in document.items if isinstance(node, Map)}
