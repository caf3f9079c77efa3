"""The same project, written in another way: keys, sections and files in another order, files split over includes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

Files = dict[str, Any]
FOLDERS = ("", "parts/", "parts/more/")
PATTERN = "parts/**/*.yaml"


def arranged(document: Mapping[str, Any], chance: random.Random) -> Files:
    """Files by name that say what a project file of one organization says. Lists keep their order, and stay in one file."""
    document = dict(document)
    (key, organization), *_ = document.pop("organizations").items()
    sections = [name for name, value in organization.items() if _is_section(name, value)]
    main: dict[str, Any] = {name: value for name, value in organization.items() if name not in sections}
    parts: list[dict[str, Any]] = [main, *({"organization": key} for _ in range(chance.randrange(4)))]
    for name in sections:
        value = organization[name]
        if isinstance(value, list):
            chance.choice(parts)[name] = value
            continue
        for part in chance.sample(parts, chance.randint(1, len(parts))):
            part[name] = {}
        holders = [part[name] for part in parts if name in part]
        for entry, content in value.items():
            chance.choice(holders)[entry] = content
    names = [f"{chance.choice(FOLDERS)}{chance.randrange(1000):03}-{number}.yaml" for number in range(1, len(parts))]
    document["organizations"] = {key: main}
    if names:
        include = [name for name in names if not name.startswith("parts/") or chance.random() < 0.5]
        missing = [name for name in names if name not in include]
        chance.shuffle(include)
        if missing:
            include.insert(chance.randint(0, len(include)), PATTERN)
        document["include"] = include
    files = {"reconciler.yaml": document, **dict(zip(names, parts[1:], strict=True))}
    return {name: shuffled(content, chance) for name, content in files.items()}


def _is_section(name: str, value: Any) -> bool:
    """Whether a part of an organization holds resources; `emailDomains` and the like are values."""
    return name in ("members", "teams", "content", "saml", "openapi", "sites")


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same data with the keys of every map in another order."""
    if isinstance(value, list):
        return [shuffled(part, chance) for part in value]
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return value
