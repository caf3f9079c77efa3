"""Objects as a newer service shows them: with values of enumerations that nobody knows yet, which no seed may have."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tests.harness import Org

KINDS = {"spaces": "space", "sites": "site"}


def newer(folder: Path, seed: Mapping[str, Any], unknown: Collection[str]) -> Org:
    """An organization from a seed; values in `unknown` are put in behind the checks of seeds."""
    known: dict[str, Any] = copy.deepcopy(dict(seed))
    later = []
    for name, kind in KINDS.items():
        for entry in known.get(name, ()):
            fields = {key: entry.pop(key) for key, value in list(entry.items()) if isinstance(value, str) and value in unknown}
            later += [(kind, entry["id"], fields)] if fields else []
    org = Org(folder, seed=known)
    store = org.app.state.service.store
    for kind, id, fields in later:
        store.save(kind, {**store.find(kind, id), **fields})
    return org
