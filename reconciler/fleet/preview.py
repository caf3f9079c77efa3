"""What two plans of a fleet have in common: a plan without its project's own names. Pure.

In: the document of a plan, and the names. Out: a text that is equal for two plans exactly where the same happens: the same requests, to the
same addresses, with the same consequences. What says only where something is written (files, lines, ids) is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints
from urllib.parse import unquote, urlsplit

from typing_extensions import is_typeddict

from reconciler.fleet.model import FleetProject, Repository
from reconciler.model import Desired
from reconciler.report.schemas.plan import PlanDocument
from reconciler.resource import Kinds

OWN: Final = "\N{LEFT CEILING}own name\N{RIGHT FLOOR}"
NAME_MIN: Final = 2  # characters; shorter texts are in too many others
_ELSEWHERE: Final = frozenset({"format", "project", "environment", "createdAt", "forecast", "source", "declared", "unmanaged"})
"""Keys that say whose plan it is, or where something is written."""
_WORDS: Final = frozenset({"kind", "actions", "verb", "method", "name", "field", "fields", "level", "sort", "rule", "id", "flag", "effect"})
"""Keys whose texts are words of the language, and never names."""
_VALUES: Final = frozenset({"before", "after"})
"""Keys of values of fields, in which a key means what the field says."""


@lru_cache(maxsize=1)  # walking every type takes longer than planning a small project
def language(kinds: Kinds) -> tuple[frozenset[str], tuple[Callable[[str], str], ...]]:
    """The words that values of fields can be, such as `public`, which are never names; and how the service derives values from others."""
    fields = [field for kind in kinds.values() for field in kind.fields.values()]
    forms = dict.fromkeys(field.derived.form for field in fields if field.derived is not None)
    return frozenset(word for field in fields for word in _literals(field.type)), tuple(forms)


def _literals(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from map(str, get_args(hint))
    elif is_typeddict(hint):
        for inner in get_type_hints(hint, include_extras=True).values():
            yield from _literals(inner)
    else:
        for inner in get_args(hint):
            yield from _literals(inner)


def own_names(kinds: Kinds, project: FleetProject, versions: Iterable[tuple[str, Desired]]) -> tuple[dict[str, str], frozenset[str]]:
    """The names of a project: placeholders for the first segments of addresses, and other texts with what the service derives from them.

    `versions`: the name and the resources of each version of its files.
    """
    words, forms = language(kinds)
    roots: dict[str, str] = {}
    texts = {project.name, project.environment or "", *project.vars.values()}
    if project.origin.endswith("(directories)"):
        texts.add(PurePosixPath(project.source.path).name)
    for name, desired in versions:
        texts.add(name)
        for address, declared in desired.resources.items():
            if address.container is None:
                roots.setdefault(str(address), "")
                titles = (value for value in declared.values.values() if isinstance(value, str))
                texts |= {declared.id or "", *titles}
    # Several organizations of one project stay different from each other: what moves from one to the other would look like nothing.
    roots = {root: OWN if len(roots) == 1 else f"{OWN}{number}" for number, root in enumerate(roots, 1)}
    texts |= {str(form(text)) for form in forms for text in tuple(texts)}
    names = {text for text in texts if len(text) >= NAME_MIN and text not in words and not _is_value(text)}
    return roots, frozenset(names - roots.keys())


def _is_value(text: str) -> bool:
    """Whether a text is a number or a truth value, and so no name."""
    return text.lower() in ("true", "false", "null", "yes", "no") or re.fullmatch(r"[-+.,:\d]+", text) is not None


def normal_form(plan: PlanDocument, roots: Mapping[str, str], names: Iterable[str], *, besides: str) -> str:
    """What a plan does, as one text. `besides`: the beginning of the sentences that say which versions were compared."""
    by_length = sorted([*roots, *names], key=lambda name: (-len(name), name))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, by_length))})(?!\w)") if by_length else None

    def placeholder(match: re.Match[str]) -> str:
        return roots.get(match[0], OWN)

    def without(value: Any, key: str, *, within: bool = False) -> Any:
        if isinstance(value, str):
            return value if pattern is None or (key in _WORDS and not within) else pattern.sub(placeholder, value)
        if isinstance(value, Mapping):
            parts = value.items() if within else [(name, part) for name, part in value.items() if name not in _ELSEWHERE]
            return {name: without(part, name, within=within or name in _VALUES) for name, part in parts}
        if isinstance(value, list):
            return [without(part, key, within=within) for part in value]
        return value

    notes = [note for note in plan["notes"] if not note.startswith(besides)]
    # The path of a request contains ids, which are its own; the address and the verb say the same.
    steps = [{key: value for key, value in step.items() if key != "path"} for step in plan["steps"]]
    return json.dumps(without({**plan, "notes": notes, "steps": steps}, ""), ensure_ascii=False, sort_keys=True)


# -- whose repository it is -----------------------------------------------------------------------------------------------------------


def place(url: str) -> tuple[str, str]:
    """The machine and the path of a repository, however its URL is written: `https://`, `ssh://`, `git@host:path`, `file://`, a folder."""
    scheme, mark, _ = url.partition("://")
    if not mark:
        host, colon, path = url.partition(":")
        if colon and "/" not in host:
            return host.rpartition("@")[2].lower(), _path(path).lower()
        return "", _path(url)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return scheme, url
    return ("", _path(unquote(parts.path))) if scheme.lower() == "file" else (host, _path(unquote(parts.path)).lower())


def _path(path: str) -> str:
    return path.strip("/").removesuffix(".git").rstrip("/")


def follows(source: Repository, branch: str | None, default: str | None) -> bool:
    """Whether a project takes its files from a branch. `branch`: None for a commit that no branch names; `default`: the default branch,
    None if it is not known."""
    if branch is None:
        return True
    if source.ref == "HEAD":
        return default is None or default == branch
    return source.ref in (branch, f"refs/heads/{branch}")
