"""What policies add to the project file: how they are read, their JSON Schema, and those of another version of a project. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reconciler.config.keys import EXCEPTION, LEVELS, POLICY, USE
from reconciler.config.schemas.forms import EXPRESSION, Schema, described_map, either
from reconciler.config.sections import ProjectSection, SectionReading
from reconciler.features.policies.section.keys import ACTIONS, ready
from reconciler.features.policies.section.reading import PolicySections
from reconciler.model import Desired
from reconciler.model.policies import PLAN
from reconciler.resource import Kinds

ASSERTION: Schema = {"type": "string", "pattern": r"^\s*\$\{\{"}


def read_policies(reading: SectionReading, desired: Desired) -> Desired:
    """The project with its policies, and the exceptions to them."""
    removed = {address: declared.kind for address, declared in desired.removed_resources.items()}
    sections = PolicySections(reading.kinds, reading.addresses, reading.problems, reading.evaluation, removed=removed)
    return replace(desired, policies=sections.read(reading.entries))


def judged_policies(kinds: Kinds, own: Desired, other: Desired) -> Desired:
    """The project with the policies of another version of it; they ask for no list of what this one does not declare."""
    asks = frozenset((at, kind) for at, kind in other.policies.asks if at in own.resources)
    return replace(own, policies=replace(other.policies, asks=asks))


def policy_schemas(kinds: Kinds) -> Schema:
    """`policies`, `use` and `exceptions`, by name."""
    target = {"anyOf": [{"enum": [*kinds, PLAN]}, {"type": "string", "pattern": "[/*]"}, {"$ref": "#/$defs/key"}]}
    action = {"enum": list(ACTIONS)}
    used = {"enum": list(ready())}
    level: Schema = {"anyOf": [{"enum": list(LEVELS)}, EXPRESSION]}
    day = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    items = {
        "use": either([used, described_map(USE, {"policy": used, "level": {"enum": list(LEVELS)}}), EXPRESSION]),
        "policies": described_map(
            POLICY,
            {
                "id": {"anyOf": [{"$ref": "#/$defs/key"}, EXPRESSION]},
                "on": {"anyOf": [target, {"type": "array", "items": target, "minItems": 1}, EXPRESSION]},
                "when": {"anyOf": [action, {"type": "array", "items": action, "minItems": 1}, EXPRESSION]},
                "assert": ASSERTION,
                "level": level,
            },
        ),
        "exceptions": described_map(EXCEPTION, {"until": {"anyOf": [day, EXPRESSION]}}),
    }
    return {name: either([{"type": "array", "items": item}, EXPRESSION]) for name, item in items.items()}


SECTION: Final = ProjectSection("policies", read_policies, policy_schemas, judged_policies)
