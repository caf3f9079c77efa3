"""Projects of any size and several shapes, as data and as YAML. Pure but for `write`.

About `size` objects each. The titles of what stands beside each other differ, so that every object is recognized by its natural key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

Tree = dict[str, Any]

ORGANIZATION: Final = "org_acme"
ADMIN: Final = "ada@acme.example"
LANGUAGES: Final = ("en", "fr", "de", "es", "it", "ja")
EMOJIS: Final = ("🚀", "📘", "💡", "📣", "🔌")
IN_COLLECTION: Final = 25  # collections of the shape mix in one of them, itself included
CHAIN: Final = 20  # collections in one another
SECTIONS: Final = 200
PER_SITE: Final = 20
IN_GROUP: Final = 5  # of those
SPLIT: Final = 50_000  # objects from which the content is split into files


def space(number: int) -> Tree:
    return {
        "space": f"s{number}",
        "title": f"Space {number}",
        "emoji": EMOJIS[number % len(EMOJIS)],
        "language": LANGUAGES[number % len(LANGUAGES)],
        "editMode": "locked" if number % 7 == 0 else "live",
        "defaultLevel": "read" if number % 3 == 0 else "edit",
    }


def collection(key: str, content: list[Tree]) -> Tree:
    return {"collection": key, "title": f"Collection {key}", "description": f"What {key} contains", "content": content}


def folders(spaces: int, number: int) -> list[Tree]:
    """So many spaces, spread evenly over so many collections."""
    starts = [spaces * i // number for i in range(number + 1)]
    return [collection(f"c{i}", [space(n) for n in range(starts[i], starts[i + 1])]) for i in range(number)]


def nested(folders: list[Tree], number: int) -> list[Tree]:
    """The collections in groups of so many: the first of a group contains the others."""
    groups = [folders[first : first + number] for first in range(0, len(folders), number)]
    return [{**group[0], "content": [*group[0]["content"], *group[1:]]} for group in groups]


def section(number: int, shown: list[int]) -> Tree:
    return {"section": f"x{number}", "title": f"Section {number}", "icon": "book", "spaces": [f"s{n}" for n in shown]}


def organization(content: list[Tree], **more: Tree) -> Tree:
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True}
    return {"id": ORGANIZATION, "title": "Acme", "members": {ADMIN: "admin"}, **more, "content": [blank, *content]}


def flat(size: int) -> Tree:
    """Collections of a hundred: 100 at 10,000 objects."""
    number = max(1, size // 100)
    return organization(folders(size - number, number))


def mix(size: int) -> Tree:
    """Something of everything: at 10,000 objects 1,000 collections, 50 sites of 20 sections and a group, 100 teams and 100 members."""
    number, sites, people = max(1, size // 10), max(1, size // 200), max(1, size // 100)
    sections = sites * PER_SITE
    spaces = size - number - 2 * sections - 3 * sites - 2 * people
    published = {}
    for i in range(sites):
        tabs = [section(n, [n % spaces]) for n in range(i * PER_SITE, (i + 1) * PER_SITE)]
        more = {"group": f"g{i}", "title": "More", "icon": "folder", "structure": tabs[-IN_GROUP:]}
        links = {"partners": {"name": "Partners", "active": True}}
        published[f"site{i}"] = {"title": f"Site {i}", "structure": [*tabs[:-IN_GROUP], more], "shareLinks": links}
    return organization(
        nested(folders(spaces, number), IN_COLLECTION),
        members={ADMIN: "admin"} | {f"p{i}@acme.example": "read" for i in range(people)},
        teams={f"t{i}": {"title": f"Team {i}"} for i in range(people)},
        sites=published,
    )


def sections(size: int) -> Tree:
    """One site with 200 sections of one or more variants, and collections of a hundred spaces; with fewer sections below 1,000 objects."""
    variants, number = max(1, size // 2000), min(SECTIONS, size // 5)
    spaces = (size - number * (1 + variants)) * 100 // 101
    tabs = [section(n, [(n * variants + v) % spaces for v in range(variants)]) for n in range(number)]
    return organization(folders(spaces, max(1, spaces // 100)), sites={"docs": {"title": "Documentation", "structure": tabs}})


def deep(size: int) -> Tree:
    """Chains of twenty collections in one another, with four spaces each."""
    chains = []
    for i in range(max(1, size // (CHAIN * 5))):
        inner: list[Tree] = []
        for depth in reversed(range(CHAIN)):
            first = (i * CHAIN + depth) * 4
            inner = [collection(f"c{i}-{depth}", [*(space(n) for n in range(first, first + 4)), *inner])]
        chains += inner
    return organization(chains)


def people(size: int) -> Tree:
    """Ten members for each space: 2,500 at 2,750 objects."""
    number = size * 10 // 11
    roles = {f"p{i}@acme.example": ("read", "edit", "create")[i % 3] for i in range(number)}
    return organization(folders(size - number, max(1, size // 200)), members={ADMIN: "admin"} | roles)


SHAPES: Final[dict[str, Callable[[int], Tree]]] = {"flat": flat, "mix": mix, "sections": sections, "deep": deep, "people": people}


def document(organization: Tree) -> Tree:
    """The project that declares the organization."""
    return {
        "version": 1,
        "project": "benchmark",
        "service": {"member": ADMIN},
        "defaults": {"space": {"duplicateOf": "blank"}},
        "organizations": {"acme": organization},
    }


def write(folder: Path, organization: Tree) -> None:
    """Write the project; the content of a large one in a file for each thousand objects."""
    folder.mkdir(parents=True, exist_ok=True)
    content = organization["content"]
    if sum(1 for _ in nodes(content)) >= SPLIT:
        (folder / "content").mkdir(exist_ok=True)
        for number, part in enumerate(parts(content, 1000)):
            (folder / "content" / f"{number:04}.yaml").write_text(yaml(part), encoding="utf-8")
        organization = {**organization, "content": {"include": "content/*.yaml"}}
    (folder / "reconciler.yaml").write_text(yaml(document(organization)), encoding="utf-8")


def nodes(content: list[Tree]) -> Iterator[Tree]:
    """All nodes, at any depth."""
    waiting = list(content)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.get("content", ())


def parts(content: list[Tree], most: int) -> Iterator[list[Tree]]:
    """The list in pieces of about so many objects."""
    part: list[Tree] = []
    number = 0
    for node in content:
        part.append(node)
        number += sum(1 for _ in nodes([node]))
        if number >= most:
            yield part
            part, number = [], 0
    if part:
        yield part


def yaml(data: Tree | list[Tree]) -> str:
    """The same data as YAML in block style, as `import` writes it."""
    return "".join(_lines(data, 0))


def _lines(data: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _entry(f"{indent}{key}:", value, depth + 1)
        return
    for item in data:
        if isinstance(item, dict):
            text = "".join(_lines(item, depth + 1))
            yield f"{indent}- {text[len(indent) + 2 :]}"
        else:
            yield f"{indent}- {_scalar(item)}\n"


def _entry(head: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict | list) and value:
        yield f"{head}\n"
        yield from _lines(value, depth)
    else:
        yield f"{head} {_scalar(value)}\n"


def _scalar(value: Any) -> str:
    plain = isinstance(value, str) and value.replace(" ", "").replace("_", "").replace("-", "").isalnum() and value.isascii()
    return value if plain else json.dumps(value, ensure_ascii=False)
