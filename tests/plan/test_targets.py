"""A target among siblings that stay, where not every sibling can be named as a neighbour."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Org
from tests.small import applied, settled


def row(names: str) -> dict[str, Any]:
    """Two collections, `a` and `b`, and a space, `s`, in some order."""
    nodes = {one: {"collection": one, "title": one.upper()} for one in "ab"} | {"s": {"space": "s", "title": "S", "duplicateOf": "blank"}}
    return {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *(nodes[one] for one in names)]}


@pytest.mark.parametrize("order", ["bas", "sba", "bsa"])
@pytest.mark.parametrize("target", ["acme/collection/b", "acme/collection/a", "acme/space/s"])
def test_a_target_never_moves_its_siblings_and_the_whole_still_finds_its_order(org: Org, target: str, order: str) -> None:
    applied(org, row("abs"))
    org.write(row(order))
    assert {str(step.address) for step in org.plan(targets=(target,)).steps} <= {target}
    org.apply()
    settled(org)
