"""Which variables the other environments use: a variable that only production needs is not unused in staging.

In: the project's directory and names of variables. Out: those that no environment's file names in an expression; the positions at which
environments set them. Reads these files only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, MutableMapping
from hashlib import sha256
from pathlib import Path

from reconciler.config.environments.folder import files
from reconciler.config.keys import ENVIRONMENTS
from reconciler.config.source.nodes import HOLE_OPENING, Map
from reconciler.config.source.reader import read
from reconciler.model import Source


def unmentioned(root: Path, names: Collection[str], digests: MutableMapping[str, str]) -> frozenset[str]:
    """Those of the names that no file of an environment uses, as far as its text shows.

    `digests`: gets the SHA-256 of each file that is read, by name; "" of one that cannot be read.
    """
    left = set(names)
    for file in files(root):
        try:
            content = (root / file).read_bytes()
        except OSError:
            digests[file] = ""
            continue
        digests[file] = sha256(content).hexdigest()
        text = content.decode("utf-8", errors="replace")
        if HOLE_OPENING not in text:
            continue
        if re.search(r"\bvars\s*\[", text) is not None:
            return frozenset()  # it may use any
        left -= set(re.findall(r"\bvars\s*\.\s*(\w+)", text))
    return frozenset(left)


def values_of(root: Path, names: Collection[str]) -> dict[str, list[Source]]:
    """The positions at which the environments set variables, by name."""
    found: dict[str, list[Source]] = defaultdict(list)
    for file in files(root) if (root / ENVIRONMENTS).is_dir() else ():
        try:
            document = read((root / file).read_bytes(), file).data
        except OSError:
            continue
        given = document.entries.get("vars") if isinstance(document, Map) else None
        for entry in given.node.entries.values() if given is not None and isinstance(given.node, Map) else ():
            if entry.key in names:
                found[entry.key].append(entry.at)
    return found
