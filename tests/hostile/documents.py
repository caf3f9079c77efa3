"""Fuzz targets that take a document this program wrote once: a saved plan, a whole state."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from functools import cache
from typing import Any

from reconciler.errors import UsageError
from reconciler.kinds import load as kinds
from reconciler.model import Actual
from reconciler.report.saved import Digests, PlanInputs, saved_plan
from reconciler.run.saved import plan_file
from reconciler.state import StateScope
from reconciler.state.transfer import checked
from tests.harness import Org
from tests.hostile.texts import edited
from tests.hostile.worlds import ODD, bent, room, world
from tests.small import small

SCOPE = StateScope("test", None, "sandbox:sandbox")


@cache
def plan_text() -> str:
    """A saved plan, as a file has it."""
    org = Org(room() / "planned")
    org.write(small())
    options: dict[str, Any] = {"target": [], "exclude": [], "allowReplace": [], "allowDelete": None, "allowExposure": []}
    made = PlanInputs("0.1.0", "sandbox:sandbox", "configuration", "lineage", 1, options)
    document = saved_plan(
        org.plan(),
        kinds(),
        Actual(),
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
        inputs=made,
        digests=Digests(b"k" * 32, lambda text: text),
    )
    return json.dumps(document)


@cache
def state_text() -> str:
    """A whole state, as `state pull` writes it."""
    with world()[0].store() as store:
        return json.dumps(store.pull())


def _damaged(rng: random.Random, text: str) -> str:
    if rng.random() < 0.3:
        return edited(rng, text)
    tree = json.loads(text)
    bent(tree, rng)
    return json.dumps(tree)


def saved_plans(rng: random.Random) -> None:
    """A damaged plan file is read for its form, or is a UsageError."""
    path = room() / "plan.json"
    path.write_bytes(_damaged(rng, plan_text()).encode("utf-8", "surrogatepass"))
    try:
        plan_file.read(path)
    except UsageError as error:
        assert error.message


def states(rng: random.Random) -> None:
    """A damaged document of a state is well formed, or is a UsageError."""
    try:
        found: Any = json.loads(_damaged(rng, state_text()))
    except ValueError:
        return  # such a file is refused where it is decoded
    if rng.random() < 0.05:
        found = rng.choice(ODD)
    try:
        checked(found, SCOPE)
    except UsageError as error:
        assert error.message
