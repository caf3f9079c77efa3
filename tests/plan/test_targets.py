"""A target among siblings that stay, where not every sibling can be named as a neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.client import Reader, Writer
from tests.harness import TOKEN, Org
from tests.small import applied, settled


def row(names: str) -> dict[str, Any]:
    """Two collections, `a` and `b`, and a space, `s`, in some order."""
    nodes = {entry: {"collection": entry, "title": entry.upper()} for entry in "ab"} | {
        "s": {"space": "s", "title": "S", "duplicateOf": "blank"}
    }
    return {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, *(nodes[name] for name in names)]}


@pytest.mark.parametrize("order", ["bas", "sba", "bsa"])
@pytest.mark.parametrize("target", ["acme/collection/b", "acme/collection/a", "acme/space/s"])
def test_a_target_never_moves_its_siblings_and_the_whole_still_finds_its_order(org: Org, target: str, order: str) -> None:
    applied(org, row("abs"))
    org.write(row(order))
    assert {str(step.address) for step in org.plan(targets=(target,)).steps} <= {target}
    org.apply()
    settled(org)


class Unmoved(Org):
    """A service that refuses to move anything while something is applied."""

    def client(self, cls: type[Reader] = Writer, *, token: str = TOKEN, failing: tuple[str, ...] = ()) -> Any:
        return super().client(cls, token=token, failing=("move", *failing))


@pytest.mark.parametrize("target", ["a", "b", "s"])
def test_siblings_of_unknown_position_are_not_moved(tmp_path: Path, target: str) -> None:
    """Their creates were done and their moves were not: that is no reason to move them in a run about another one."""
    org = Unmoved(tmp_path)
    org.write({"content": [*row("")["content"], *({"space": key, "title": key.upper()} for key in "abs")]})
    org.apply()
    assert {str(step.address) for step in Org.plan(org, targets=(f"acme/space/{target}",)).steps} == {f"acme/space/{target}"}
