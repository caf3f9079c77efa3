"""What is kept of an object of the service beside the values of its fields."""

from __future__ import annotations

import pytest

from reconciler.kinds import load
from reconciler.model.codec import observed
from reconciler.resource import UNSET

SPACE = {
    "object": "space",
    "id": "spc_1",
    "title": "Guides",
    "parent": "col_1",
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-02T00:00:00Z",
    "revision": "rev_1",
    "comments": 3,
    "urls": {"app": "https://app.example/spc_1", "published": "https://docs.example/guides"},
    "permissions": {"edit": True},
}


def test_of_a_space_nothing_is_kept_that_nobody_reads() -> None:
    kept = load().kept["space"]
    assert kept is not None
    assert {name for name in SPACE if name not in kept.of(SPACE)} == {"object"}
    assert kept.of(SPACE)["urls"] == {"published": "https://docs.example/guides"}


@pytest.mark.parametrize("name", sorted(load()))
def test_what_a_declaration_names_beside_fields_is_kept(name: str) -> None:
    kinds = load()
    kind = kinds[name]
    raw = {**SPACE, "processingState": "complete", "status": "completed", "sectionGroup": "sgr_1", "slug": "api", "siteSpaces": [1]}
    shown = observed(kinds, kind, raw, within={})
    assert kind.url(shown.raw) == kind.url(raw)
    assert kind.own_id(shown.raw) == kind.own_id(raw)
    for field in kind.location_fields:
        assert field.value_in(shown.raw) == field.value_in(raw)
    for verb in kind.api.values():
        assert all(shown.raw[at] == raw[at] for at in verb.brings.values())
    if kind.work is not None:
        assert (shown.raw.get(kind.work.state), shown.raw.get(kind.work.changed_at)) == (raw.get(kind.work.state), raw["updatedAt"])
    for field in kind.fields.values():
        if callable(field.usual):
            assert field.usual(shown.raw) == field.usual(raw) != UNSET
