"""Three organizations and more: an example's project, another's, a seed that is imported, and random ones with something of every kind."""

from __future__ import annotations

import copy
import random
import shutil
from pathlib import Path
from typing import Any

import yaml

from reconciler.config import load
from reconciler.kinds import load as kinds
from reconciler.run.connection.embedded import own_seed, seed_document
from tests.organizations import TOKEN, pair, project
from tests.strict.journey import ROOT
from tests.strict.turns import Files

EXAMPLES = ROOT / "examples"
LOOSE: dict[str, Any] = {"protect": [], "guards": {"maxDelete": {"percent": 100, "atLeast": 1000}}}
TAGS = ("group", "section", "collection", "shareLinks")
PARTS = ("teams", "content", "saml", "openapi", "sites")
DRAWN = 60


def example(name: str, folder: Path) -> dict[str, Any]:
    """Copy an example's project into a folder, without its guards and rules, which the edits break; what its service holds beforehand."""
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns(".reconciler", "expected-plan.txt", "sandbox.seed.yaml"))
    project = load(EXAMPLES / name, kinds())
    holds = seed_document(project, kinds(), own_seed(project))
    file = folder / "reconciler.yaml"
    project = yaml.safe_load(file.read_text(encoding="utf-8"))
    for rules in ("access", "policies", "use", "exceptions"):
        project.pop(rules, None)
    service = {key: value for key, value in project["service"].items() if key != "sandbox"}
    file.write_text(yaml.safe_dump({**project, **LOOSE, "service": service}, allow_unicode=True, sort_keys=False), encoding="utf-8")
    admin = next(member["id"] for member in holds["members"] if member["role"] == "admin")
    return {**holds, "tokens": [{"token": TOKEN, "member": admin, "access": "write"}]}


def handbook() -> dict[str, Any]:
    """A service that holds the handbook of the examples."""
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / "handbook" / "sandbox.seed.yaml").read_text(encoding="utf-8"))
    return {**found, "tokens": [{"token": TOKEN, "member": "usr_ada", "access": "write"}]}


def of(organization: dict[str, Any], **top: Any) -> Files:
    """The project of one organization of the tests' own service."""
    return {"reconciler.yaml": project({"acme": copy.deepcopy(organization)}, **top)}


def cleared(_: Files) -> Files:
    """The same with nothing in it, and consent to the deletes that require it."""
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank"}
    removed = [{"address": "acme/saml/okta", "action": "delete"}]
    empty: dict[str, Any] = {"content": [blank], "teams": {}, "saml": {}, "openapi": {}, "sites": {}}
    return of({**empty, "defaultContent": None}, removed=removed)


def generated(number: int) -> tuple[Files, Files]:
    """Two random organizations, each with something of many kinds; either can be applied after the other."""
    chance = random.Random(number)
    first, second = max((pair(chance) for _ in range(DRAWN)), key=lambda drawn: min(map(_kinds, drawn)))
    for tree in (first, second):
        if tree.get("mergeRules") == "inherit":  # which the reference allows, and the published schema does not
            del tree["mergeRules"]
    return of(first), of(second)


def _kinds(tree: dict[str, Any]) -> int:
    """How many kinds there are in it."""
    text = str(tree)
    return sum(bool(tree.get(part)) for part in PARTS) + sum(f"'{tag}':" in text for tag in TAGS)
