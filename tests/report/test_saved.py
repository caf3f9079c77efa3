"""Digests of what a saved plan relies on: the same for the same, another for another, and nothing to find a secret by."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from reconciler.address import Address
from reconciler.model import Step
from reconciler.report.saved import Digests, digest_of
from reconciler.resource import PATCH, POST, UNSET, Foreign, Keyed, Listing, Resource, Verbs, field, within


class Shed(Resource, kind="shed", place=Keyed("sheds")):
    """A shed with a lock."""

    reads = (Listing("/gardens/{garden}/sheds"),)
    api = Verbs(create=POST("/gardens/{garden}/sheds"), update=PATCH("/sheds/{id}"))
    garden = within("garden")
    name: str = field("What it is called.", key=True)
    lock: str = field("The code of its lock.", sensitive=True, wire="lockCode")


KEYED = Digests(b"k" * 32, lambda value: value)
BARE = Digests(None, lambda value: "(hidden)" if value == "4711" else value)


def step(lock: str = "4711", **more: Any) -> Step:
    writes = {"name": "Tools", "lock": lock}
    body = {"name": "Tools", "lockCode": lock}
    whole: dict[str, Any] = {"method": "PATCH", "path": ("sheds", "s1"), "body": body, "writes": writes, "target": "s1"}
    return Step(1, Address.parse("eden/shed/tools"), "shed", "update", **{**whole, **more})


def test_with_a_key_a_secret_counts_and_without_one_it_is_left_out() -> None:
    for digests, counts in ((KEYED, True), (BARE, False)):
        assert (digests.request(Shed.kind, step()) != digests.request(Shed.kind, step("0815"))) is counts


def test_a_digest_with_a_key_cannot_be_made_without_it() -> None:
    assert KEYED.of("4711") != Digests(b"l" * 32, lambda value: value).of("4711")
    assert KEYED.of("4711").startswith("hmac-sha256:")
    assert hashlib.sha256(b'"4711"').hexdigest() not in KEYED.of("4711") + BARE.of("4711")


@pytest.mark.parametrize(
    "more",
    [
        {"path": ("sheds", "s2")},
        {"target": "s2"},
        {"target": Address.parse("s1")},
        {"body": {"name": "Toys", "lockCode": "4711"}},
        {"writes": {"name": "Toys", "lock": "4711"}},
        {"identity": {"name": "Tools"}},
        {"source": "s3"},
        {"takes": (Address.parse("eden/shed/other"),)},
        {"brings": (("shed", "inner", Address.parse("eden/shed/inner")),)},
    ],
    ids=lambda more: next(iter(more)),
)
@pytest.mark.parametrize("digests", [KEYED, BARE], ids=["keyed", "bare"])
def test_whatever_a_request_does_counts(digests: Digests, more: dict[str, Any]) -> None:
    assert digests.request(Shed.kind, step(**more)) != digests.request(Shed.kind, step())


def test_values_that_look_alike_differ() -> None:
    alike = [None, UNSET, "acme", Address.parse("acme"), Foreign("acme"), ["acme"], frozenset(["acme"]), 1, True, "1", 1.5, {}]
    assert len({KEYED.of(value) for value in alike}) == len(alike)
    assert KEYED.of(frozenset("abc")) == KEYED.of(frozenset("cab"))
    assert KEYED.of({"a": 1, "b": 2}) == KEYED.of({"b": 2, "a": 1})


def test_layout_does_not_make_another_file() -> None:
    assert digest_of({"a": 1, "b": [1]}) == digest_of({"b": [1], "a": 1}) != digest_of({"a": 1, "b": [2]})
