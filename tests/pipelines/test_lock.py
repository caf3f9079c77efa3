"""The lock file of the action and the component: everything that is required is pinned, by version and by hash."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.pipelines.python import LOCKED, ROOT

EXTRAS: Final = ("bucket", "postgres")


def pins() -> dict[str, tuple[Requirement, int]]:
    """The requirements of the lock file by their names, with the number of their hashes."""
    text = re.sub(r"^#.*\n", "", LOCKED.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = [(Requirement(entry.partition(" \\")[0]), entry.count("--hash=sha256:")) for entry in re.split(r"\n(?=\S)", text.strip())]
    return {canonicalize_name(requirement.name): (requirement, hashes) for requirement, hashes in found}


def test_every_package_is_pinned_by_one_version_and_by_hashes() -> None:
    for requirement, hashes in pins().values():
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
        assert hashes > 0, requirement


def test_the_lock_satisfies_what_is_required_and_what_that_requires() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = pins()
    waiting = [*project["dependencies"], *(text for extra in EXTRAS for text in project["optional-dependencies"][extra])]
    seen: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        name, extras = canonicalize_name(requirement.name), sorted(requirement.extras)
        pinned = str(known[name][0].specifier).removeprefix("==")
        assert requirement.specifier.contains(pinned), f"{requirement} is not satisfied by {pinned}"
        if name not in seen or extras:
            seen.add(name)
            waiting += [text for text in _required(name, pinned) if _applies(text, extras)]
    assert len(seen) > 25


def _required(name: str, pinned: str) -> list[str]:
    """What a package requires, as far as that version of it is installed here."""
    try:
        return (requires(name) or []) if version(name) == pinned else []
    except PackageNotFoundError:
        return []


def _applies(text: str, extras: list[str]) -> bool:
    marker = Requirement(text).marker
    return marker is None or any(marker.evaluate({**default_environment(), "extra": extra}) for extra in ("", *extras))
