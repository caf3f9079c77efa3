"""Which environments a project has, and the file of the one that is chosen.

In: the project's directory and the name that the command line gives. Out: the file's name, or a problem that lists what there is. Looks at
names only; opens nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, MutableMapping
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Final

from reconciler.config.keys import ENVIRONMENTS, NO_ENVIRONMENTS, is_encrypted
from reconciler.config.source.nodes import HOLE_OPENING, Map
from reconciler.config.source.problems import Problems, shown
from reconciler.config.source.reader import FILE_MAX, read
from reconciler.errors import Problem
from reconciler.links import LinkRefused, leads_out, read_file
from reconciler.model import Source
from reconciler.text.names import closest, did_you_mean

SUFFIX: Final = ".yaml"
# The name is a part of addresses in commands, of keys in the state and of file names on Windows and macOS, where case has no meaning.
_NAME: Final = re.compile(r"[a-z0-9-]{1,100}", re.ASCII)


def files(root: Path) -> list[str]:
    """The files of all environments, relative to the project."""
    return sorted(f"{ENVIRONMENTS}/{path.name}" for path in (root / ENVIRONMENTS).glob("*") if _is_ours(path))


def chosen(root: Path, name: str | None, problems: Problems) -> str | None:
    """The file of an environment; None, with a problem, if no environment has that name, or none is named."""
    if name is not None and not (root / ENVIRONMENTS).is_dir():
        problems.found.append(_without_folder(root, name))
        return None
    known: list[str] = []
    wrong = leads_out(root / ENVIRONMENTS, root)
    if wrong is not None:  # what it leads to is not even listed
        problems.found.append(Problem(f"{ENVIRONMENTS}/", 0, 0, f"this folder {wrong}; replace it by a folder", id="RC-link-not-read"))
        return None
    for file in files(root):
        stem = Path(file).name.removesuffix(SUFFIX)
        if not file.endswith(SUFFIX):
            wrong = f"the file of an environment ends in {SUFFIX}; rename it"
        elif _NAME.fullmatch(stem) is None:
            wrong = "the name of an environment consists of lower-case letters, digits and -; rename the file"
        elif (reason := leads_out(root / file, root)) is not None:
            wrong = f"the file of an environment is inside the project, and this {reason}"
        else:
            known.append(stem)
            continue
        problems.found.append(Problem(file, 0, 0, wrong, id="RC-environment-file"))
    if wrong is not None:
        return None
    if not known:
        problems.found.append(
            Problem(
                f"{ENVIRONMENTS}/",
                0,
                0,
                f"it contains no environment; add {ENVIRONMENTS}/NAME{SUFFIX}, or remove it",
                id="RC-environment-file",
            )
        )
    elif name is None:
        ways = " or ".join(f"--env {environment}" for environment in known)
        problems.found.append(Problem("--env", 0, 0, f"this project has environments; pass {ways}", id="RC-environment-missing"))
    elif name not in known:
        wrong = f'environment "{name}" does not exist{did_you_mean(name, known)} (this project has {", ".join(known)})'
        problems.found.append(Problem("--env", 0, 0, wrong, id="RC-environment-unknown"))
    else:
        return f"{ENVIRONMENTS}/{name}{SUFFIX}"
    return None


def _without_folder(root: Path, name: str) -> Problem:
    """The problem of an environment that is named where the project has none: its state would be a second one of the same objects."""
    near = closest(ENVIRONMENTS, sorted(path.name for path in root.iterdir() if path.is_dir()))
    if near is not None:
        wrong = f"this project has no folder {ENVIRONMENTS}/; rename {near}/ if it has the environments"
        return Problem("--env", 0, 0, wrong, id="RC-environment-unknown")
    way = NO_ENVIRONMENTS
    if _NAME.fullmatch(name) is not None:
        way = f"to create it, write {ENVIRONMENTS}/{name}{SUFFIX} with what differs there (nothing: {{}})"
    wrong = f"this project has no environments, so {shown(name)} is not one of them; leave --env out, or {way}"
    return Problem("--env", 0, 0, wrong, id="RC-environment-unknown")


def _is_ours(path: Path) -> bool:
    return path.suffix in (SUFFIX, ".yml") and not path.name.startswith(".") and not is_encrypted(path.name) and path.is_file()


# -- the variables that environments mention ----------------------------------------------------------------------------------------------


def unmentioned(root: Path, names: Collection[str], digests: MutableMapping[str, str], given: Mapping[str, str]) -> frozenset[str]:
    """Those of the names that no file of an environment uses, as far as its text shows.

    `digests`: gets the SHA-256 of each file that is read, by name; "" of one that cannot be read. `given`: texts that replace those of
    files, by name.
    """
    left = set(names)
    for file in files(root):
        try:
            content = _content(root, file, given)
        except (OSError, LinkRefused):
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


def _content(root: Path, name: str, given: Mapping[str, str]) -> bytes:
    """The content of a file of an environment. Raises `OSError` and `LinkRefused`."""
    return given[name].encode("utf-8", "surrogatepass") if name in given else read_file(root / name, FILE_MAX, within=root)


def values_of(root: Path, names: Collection[str], given: Mapping[str, str] = MappingProxyType({})) -> dict[str, list[Source]]:
    """The positions at which the environments set variables, by name. `given`: texts that replace those of files, by name."""
    places: dict[str, list[Source]] = defaultdict(list)
    for file in files(root) if (root / ENVIRONMENTS).is_dir() else ():
        try:
            document = read(_content(root, file, given), file).data
        except (OSError, LinkRefused):  # whoever loads that environment reports it
            continue
        values = document.entries.get("vars") if isinstance(document, Map) else None
        for entry in values.node.entries.values() if values is not None and isinstance(values.node, Map) else ():
            if entry.key in names:
                places[entry.key].append(entry.at)
    return places
