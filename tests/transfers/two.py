"""A project with two organizations, which one administrator may both change."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from reconciler.model import Outcome, Plan, StepStatus
from tests.harness import Org
from tests.organizations import BETA as BETA, GAMMA as GAMMA, THREE_SEED as THREE_SEED, TWO_SEED as TWO_SEED, project

Tree = list[dict[str, Any]]


def document(acme: Tree, beta: Tree, *moved: tuple[str, str], **top: Any) -> str:
    """A project with this content, and with `moved` lines: (from, to). `acme_more`, `beta_more`: what else is in each organization.

    `gamma`: the content of a third one."""
    gamma: Tree | None = top.pop("gamma", None)
    third = {"gamma": {"content": [{"space": "plain", "id": "spc_plain", "title": "Plain"}, *(gamma or [])]}}
    organizations = {
        "acme": {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *acme], **top.pop("acme_more", {})},
        "beta": {"content": [{"space": "base", "id": "spc_base", "title": "Base"}, *beta], **top.pop("beta_more", {})},
        **(third if gamma is not None else {}),
    }
    defaults = {"protect": None, "defaults": None}
    return yaml.safe_dump(project(organizations, transfers=moved, **defaults | top), allow_unicode=True, sort_keys=False)


class Two(Org):
    """`contents`: the content of each organization, by its key."""

    def declare(self, acme: Tree, beta: Tree, *moved: tuple[str, str], **top: Any) -> None:
        """Write the project; see `document`."""
        self.write(document(acme, beta, *moved, **top))

    def applied(self, *parts: Any, **top: Any) -> Outcome:
        """Declare, apply, and hold that everything was done and nothing is left."""
        self.declare(*parts, **top)
        outcome = self.apply()
        assert [
            (str(result.step.address), result.step.verb, result.error) for result in outcome.results if result.status is not StepStatus.DONE
        ] == []
        assert outcome.leftover == ()
        self.settled()
        return outcome

    def settled(self) -> None:
        """A run after it has nothing to do, and says nothing that is in the way."""
        plan = self.plan()
        assert [(str(change.address), change.actions) for change in plan.changes] == []
        assert (plan.steps, plan.blocked, plan.exposures) == ((), (), ())

    def where(self, address: str) -> tuple[str, str | None]:
        """The organization and the parent that the object of an address has on the service."""
        address_kind = address.split("/")[1]
        shown = self.call("GET", f"/{address_kind}s/{self.id(address)}")
        return shown["organization"], shown.get("parent")

    def addresses(self) -> dict[str, str]:
        """The id of everything that is tracked, by address."""
        return {str(address): binding.id for address, binding in self.remembered().bindings.items()}


def two(root: Path) -> Two:
    return Two(root, seed=copy.deepcopy(TWO_SEED))


def three(root: Path) -> Two:
    """A project with a third organization, `gamma`."""
    return Two(root, seed=copy.deepcopy(THREE_SEED))


def space(key: str, title: str | None = None, *, of: str = "blank", **more: Any) -> dict[str, Any]:
    return {"space": key, "title": title or key.title(), "duplicateOf": of, **more}


def collection(key: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"collection": key, "title": key.title(), "content": list(content), **more}


def sent(outcome: Outcome) -> list[str]:
    """What was sent, in the order of the plan: verb and address."""
    return [f"{result.step.verb} {result.step.address}" for result in outcome.results]


def reasons(plan: Plan) -> dict[str, str]:
    return {str(refusal.address): refusal.reason for refusal in plan.blocked}
