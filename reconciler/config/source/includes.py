"""`include`: the names and patterns of a project file, resolved to files inside the project.

Reads names and links of the file system; opens nothing. A path out of the project, by `..`, an absolute path or a link, is a problem, and
so is a pattern that matches nothing: a file that went missing must not empty a plan.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path, PurePosixPath

from reconciler.config.keys import ENVIRONMENTS, is_encrypted
from reconciler.config.source.nodes import HOLE_OPENING, Map, MapEntry, Node, Scalar
from reconciler.config.source.problems import Problems, described, items_of, shown, wrong_form
from reconciler.model import Source
from reconciler.text.escape import is_plain, terminal
from reconciler.text.names import did_you_mean

# `**/*` in the root of a repository with node_modules matches more files than anybody wants to wait for.
FILES_MAX = 10_000  # matches of one pattern
SEED_FILE = "sandbox.seed.yaml"  # the seed of the sandbox; beside the project file, never part of the project
BESIDE_MAX = 1_000  # files that are searched for the intended one
_WILD = "*?["


def included(root: Path, project_file: str, entry: MapEntry | None, problems: Problems) -> dict[str, Source]:
    """The included files, relative to the project, each with the pattern that names it first, in the order of the patterns and sorted
    within each."""
    if entry is None:
        return {}
    sources: dict[str, Source] = {}
    for node in items_of(entry, "a list of files", f"write {_listed(entry.node)}", problems.add):
        for name in named(root, project_file, node, problems):
            sources.setdefault(name, node.at)
    return sources


def is_encrypted_document(document: Map, problems: Problems) -> bool:
    """Whether an included file is one that SOPS encrypted, which is reported."""
    mark = document.entries.get("sops")
    if mark is not None:
        wrong = "this file is encrypted: name it with secrets: FILE instead of include, and end its name in .enc.yaml"
        problems.add(mark.at, wrong, id="RC-encrypted-include")
    return mark is not None


def _listed(node: Node) -> str:
    """The same value as a list."""
    return f"[{node.text}]" if isinstance(node, Scalar) and node.text and node.text.isprintable() and len(node.text) < 60 else "[…]"


def named(root: Path, project_file: str, node: Node, problems: Problems) -> list[str]:
    """The files that a name or pattern matches, sorted; empty, with a problem, if there are none."""
    if not isinstance(node, Scalar) or not node.text:
        nothing = isinstance(node, Scalar) and node.empty
        problems.add(node.at, f"include must contain names of files, not {'nothing' if nothing else described(node)}", id=wrong_form(node))
        return []
    wrong = _refused(node.text)
    matches = [] if wrong is not None else _matches(root, node.text)
    gone = wrong is None and not matches
    names = [name for name in matches if name not in (project_file, SEED_FILE) and not name.startswith(f"{ENVIRONMENTS}/")]
    # A pattern takes every YAML file of a folder, and an encrypted file beside them is not one of the project's.
    names = [name for name in names if not is_encrypted(name)]
    if wrong is None and matches and not names and is_encrypted(node.text):
        wrong = "is an encrypted file; name it with secrets: FILE instead"
    outside = [name for name in names if not (root / name).resolve().is_relative_to(root)]
    if wrong is None and not names and any(mark in node.text for mark in _WILD):
        wrong = "matches no file"
    elif wrong is None and node.text == project_file:
        wrong = "is the project file itself"
    elif wrong is None and not names:
        wrong = f"is not a file of this project{did_you_mean(node.text, set(_beside(root, node.text)) - {project_file})}"
    if wrong is None and len(matches) > FILES_MAX:
        wrong = f"matches more than {FILES_MAX:,} files"
    unprintable = next((name for name in names if not all(map(is_plain, name))), None)
    if wrong is None and unprintable is not None:
        wrong = f"matches {terminal(unprintable)}, whose name contains a character that cannot be printed; rename the file"
    if wrong is None and outside:
        wrong = f"is outside the project: {_link(root, outside[0])} is a link"
    if wrong is None:
        return names
    problems.add(node.at, f"include {shown(node.text)} {wrong}", id="RC-not-includable")
    problems.partial |= gone  # the contents of the file are not reported as missing too
    return []


def _link(root: Path, name: str) -> str:
    """The first part of a name that is a link: what is in the place to which it leads is not named."""
    parts = PurePosixPath(name).parts
    names = [PurePosixPath(*parts[:count]).as_posix() for count in range(1, len(parts) + 1)]
    return next((part for part in names if (root / part).is_symlink()), name)


def _beside(root: Path, name: str) -> list[str]:
    """The YAML files in the folder of a name that does not exist."""
    try:
        folder = (root / name).parent
        if not folder.resolve().is_relative_to(root):
            return []
        neighbours = islice(folder.glob("*.y*ml"), BESIDE_MAX)
        return sorted(path.relative_to(root).as_posix() for path in neighbours if path.is_file() and not path.name.startswith("."))
    except (ValueError, OSError):
        return []


def _refused(text: str) -> str | None:
    """Why a pattern is invalid; None if it is valid."""
    parts = PurePosixPath(text).parts
    if HOLE_OPENING in text:
        return "contains an expression; files are read before expressions are evaluated"
    # Also C:\ and \\host: the same project is loaded on Windows.
    if text.startswith(("/", "~")) or "\\" in text or ":" in text or "\x00" in text:
        return "is not a path inside the project; write it relative to the project file, with /"
    if ".." in parts:
        return "is outside the project; write a path below the project file"
    if any(part.startswith(".") for part in parts) or not parts:
        return "names a hidden file, which is not allowed"
    if parts[0] == ENVIRONMENTS:
        return "names the file of an environment, which is chosen with --env"
    if any("**" in part and part != "**" for part in parts):
        return "has ** next to other characters; ** must be a path segment of its own"
    return None


def _matches(root: Path, pattern: str) -> list[str]:
    try:
        if not any(mark in pattern for mark in _WILD):
            return [PurePosixPath(pattern).as_posix()] if (root / pattern).is_file() else []
        paths = [path.relative_to(root) for path in islice(root.glob(pattern), FILES_MAX + 1) if path.is_file()]
    except (ValueError, OSError):
        return []
    return sorted(path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts))
