"""The entry of a project file's schema in the catalog of SchemaStore, from which editors choose a schema by the name of a file. Pure."""

from __future__ import annotations

import json
from typing import Any

from reconciler.config.schema import ID


def entry() -> dict[str, Any]:
    """The entry, as the catalog's own schema describes it."""
    return {
        "name": "Reconciler",
        "description": "A project of Reconciler: a documentation organization as code",
        "fileMatch": ["reconciler.yaml"],
        "url": ID,
    }


def dumped() -> str:
    """The entry as the text of `schemas/catalog.json`."""
    return json.dumps(entry(), indent=2) + "\n"
