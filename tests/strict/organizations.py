"""Three organizations and more: an example's project, another's, a seed that is imported, and random ones with something of every kind."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from reconciler.cli.sandboxes.embedded import seed_document
from reconciler.config import load
from reconciler.kinds import load as kinds
from tests.harness import SEED, TOKEN
from tests.metamorphic import organizations
from tests.metamorphic.laboratory import document
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
    holds = seed_document(load(EXAMPLES / name, kinds()), kinds())
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
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / "seeds" / "handbook.yaml").read_text(encoding="utf-8"))
    return {**found, "tokens": [{"token": TOKEN, "member": "usr_ada", "access": "write"}]}


def of(organization: dict[str, Any], **top: Any) -> Files:
    """The project of one organization of the tests' own service."""
    return {"reconciler.yaml": document(copy.deepcopy(organization), **top)}


def cleared(_: Files) -> Files:
    """The same with nothing in it, and consent to the deletes that require it."""
    blank = {"space": "blank", "id": "spc_blank", "title": "Blank"}
    removed = [{"address": "acme/saml/okta", "action": "delete"}]
    empty: dict[str, Any] = {"content": [blank], "teams": {}, "saml": {}, "openapi": {}, "sites": {}}
    return of({**empty, "defaultContent": None}, removed=removed)


def generated(number: int) -> tuple[Files, Files]:
    """Two random organizations, each with something of every kind; either can be applied after the other."""
    drawn: list[tuple[dict[str, Any], dict[str, Any]]] = []

    @seeded(number)
    @settings(
        max_examples=DRAWN, database=None, deadline=None, phases=[Phase.generate], derandomize=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(organizations.pairs())
    def draw(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
        drawn.append(pair)

    draw()
    first, second = max(drawn, key=lambda pair: min(_kinds(tree) for tree in pair))
    for tree in (first, second):
        if tree.get("mergeRules") == "inherit":  # which the reference allows, and the published schema does not
            del tree["mergeRules"]
    return of(first), of(second)


def _kinds(tree: dict[str, Any]) -> int:
    """How many kinds there are in it."""
    text = str(tree)
    return sum(bool(tree.get(part)) for part in PARTS) + sum(f"'{tag}':" in text for tag in TAGS)


GENERATED = organizations.SERVICE
SMALL = SEED
