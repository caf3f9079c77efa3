"""Trees of pages as rows of the tables, and back. The newest revision of each object is kept, and nothing older.

In: a connection inside a transaction, and trees. Out: rows, or trees. Forbidden: transactions, deciding which are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reconciler.features.urls.model.pages import Page, PageTree
from reconciler.model.variants import Key
from reconciler.state.connection import Connection
from reconciler.state.tables.schema import insert
from reconciler.state.tables.values import damaged, decoded, to_json

BATCH = 500  # ids in one query; a database limits how many it takes


def read_trees(connection: Connection, state: int, keys: Collection[Key]) -> dict[Key, PageTree]:
    """The kept trees of these objects; raises StateError where one is broken."""
    trees: dict[Key, PageTree] = {}
    query = "SELECT * FROM page_trees WHERE state = :state AND kind = :kind AND id IN :ids"
    for kind in sorted({kind for kind, _ in keys}):
        ids = sorted(id for name, id in keys if name == kind)
        for start in range(0, len(ids), BATCH):
            rows = connection.rows(query, state=state, kind=kind, ids=ids[start : start + BATCH])
            values = decoded([row.pages for row in rows], lambda number, of=rows: f"the pages of {of[number].id}")  # type: ignore[misc]
            trees |= {(row.kind, row.id): tree_of(row.revision, pages, row.id) for row, pages in zip(rows, values, strict=True)}
    return trees


def tree_of(revision: str, pages: Any, id: str) -> PageTree:
    """The tree of a decoded row; raises StateError where it is broken. One of a version that kept no conditions of pages is of no revision
    that anybody knows, so that it is read again."""
    try:
        revision = revision if all(len(page) == len(Page._fields) for page in pages) else ""
        tree = PageTree(revision, tuple(Page(*page) for page in pages))
    except TypeError as error:
        raise damaged(f"the pages of {id}") from error
    if not {type(text) for page in tree.pages for text in page} <= {str}:
        raise damaged(f"the pages of {id}")
    return tree


def write_trees(connection: Connection, state: int, trees: Mapping[Key, PageTree]) -> None:
    """Keep these trees in place of those of other revisions."""
    replace = f"{insert('page_trees')} ON CONFLICT (state, kind, id) DO UPDATE SET revision = excluded.revision, pages = excluded.pages"
    connection.run_all(
        replace,
        [
            {"state": state, "kind": kind, "id": id, "revision": tree.revision, "pages": to_json(pages_of(tree), "a tree of pages")}
            for (kind, id), tree in sorted(trees.items())
        ],
    )


def pages_of(tree: PageTree) -> list[list[str]]:
    """The pages as JSON."""
    return [[*page] for page in tree.pages]
