"""Query parameters that come more than once."""

from __future__ import annotations

from tests.sandbox.box import Box


def test_a_parameter_of_one_value_that_is_given_twice_is_refused_by_name(box: Box) -> None:
    assert box.refused("GET", "/orgs", params=[("limit", "1"), ("limit", "2")]) == "limit: given more than once"
    assert box.refused("GET", "/integrations", params=[("scope", "a"), ("scope", "b")]) == "scope: given more than once"


def test_a_list_and_what_the_service_does_not_know_may_come_twice(box: Box) -> None:
    assert box.send("GET", "/integrations", params=[("blockDomain", "a.example"), ("blockDomain", "b.example")]).status_code == 200
    assert box.send("GET", "/spaces/spc_one/comments", params=[("authors", "a"), ("authors", "b")]).status_code == 200
    assert box.send("GET", "/orgs", params=[("mood", "good"), ("mood", "bad")]).status_code == 200
