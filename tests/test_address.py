"""Addresses and patterns over them."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, strategies as st

from reconciler.address import KEY_PATTERN, Address, Glob, is_key
from tests.effort import calls

KEYS = st.from_regex(rf"\A{KEY_PATTERN}\Z").filter(is_key)
KINDS = st.sampled_from(["site", "section", "site-space", "saml"])


@st.composite
def addresses(draw: st.DrawFn) -> Address:
    address = Address((draw(KEYS),))
    for _ in range(draw(st.integers(0, 2))):
        address = address.child(draw(KINDS), draw(KEYS))
    return address.child(draw(KINDS)) if draw(st.booleans()) else address


@pytest.mark.parametrize(
    ("text", "kind", "key", "container"),
    [
        ("acme", None, "acme", None),
        ("acme/agent-instructions", "agent-instructions", "agent-instructions", "acme"),
        ("acme/member/ada@acme.example", "member", "ada@acme.example", "acme"),
        ("acme/site/docs", "site", "docs", "acme"),
        ("acme/site/docs/adaptive-schema", "adaptive-schema", "adaptive-schema", "acme/site/docs"),
        ("acme/site/docs/section/guides", "section", "guides", "acme/site/docs"),
    ],
)
def test_an_address_knows_its_kind_key_and_container(text: str, kind: str | None, key: str, container: str | None) -> None:
    address = Address.parse(text)
    assert (address.kind, address.key) == (kind, key)
    assert address.container == (Address.parse(container) if container else None)
    assert address.root == Address.parse("acme")


@given(addresses())
def test_an_address_parses_from_what_it_prints(address: Address) -> None:
    assert Address.parse(str(address)) == address
    assert hash(Address.parse(str(address))) == hash(address)


@given(addresses())
def test_an_address_lies_within_each_of_its_containers_and_sorts_after_them(address: Address) -> None:
    assert not address.is_within(address)
    container = address.container
    while container is not None:
        assert address.is_within(container)
        assert not container.is_within(address)
        assert container < address
        container = container.container


def test_a_key_that_begins_like_another_is_not_within_it() -> None:
    assert not Address.parse("acme/site/docs2").is_within(Address.parse("acme/site/docs"))
    assert not Address.parse("acme2/site/docs").is_within(Address.parse("acme"))


@given(st.lists(addresses(), max_size=6))
def test_addresses_sort_by_segments(some: list[Address]) -> None:
    assert [address.parts for address in sorted(some)] == sorted(address.parts for address in some)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("/", "''"),
        ("acme/", "''"),
        ("/acme", "''"),
        ("acme//docs", "''"),
        ("acme/site/do cs", "'do cs'"),
        ("acme/Site/docs", "kind"),
        ("acme/site/docs\n", "key"),
        ("acme/site\n", "kind"),
        ("ac*me", "key"),
        ("acmé", "key"),
        ("x" * 101, "1 to 100"),
    ],
)
def test_an_invalid_address_is_refused_with_the_segment_named(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Address.parse(text)


def test_nothing_lies_below_a_singleton() -> None:
    with pytest.raises(ValueError, match="nothing is below 'acme/agent-instructions'"):
        Address.parse("acme/agent-instructions").child("site", "docs")


def test_a_copied_address_is_equal_and_brings_no_stale_hash() -> None:
    address = Address.parse("acme/site/docs")
    hash(address)
    for other in (copy.deepcopy(address), pickle.loads(pickle.dumps(address))):
        assert other == address
        assert hash(other) == hash(address)
    assert b"_hash" not in pickle.dumps(address)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("acme/site/docs", "acme/site/docs", True),
        ("acme/site/docs", "acme/site/Docs", False),
        ("acme/site/*", "acme/site/docs", True),
        ("acme/site/*", "acme/site/docs/section/api", False),
        ("acme/**", "acme", True),
        ("acme/**", "acme/site/docs/section/api", True),
        ("acme/**", "acme2/site/docs", False),
        ("**", "acme", True),
        ("**/section/*", "acme/site/docs/section/api", True),
        ("**/section/*", "acme/site/section", False),
        ("*/site/*/**", "acme/site/docs", True),
        ("**/site/**/api", "acme/site/docs/section/api", True),
        ("acme/*", "acme/agent-instructions", True),
        ("acme/site/d*s", "acme/site/docs", True),
        ("acme/site/d*s", "acme/site/ds", True),
        ("acme/site/d*s", "acme/site/docs2", False),
        ("acme/member/*@acme.example", "acme/member/ada@acme.example", True),
        ("acme/member/*@acme.example", "acme/member/ada@acmeXexample", False),
        ("a+b", "aab", False),
        ("**/**", "acme", True),
    ],
)
def test_a_pattern_matches_whole_addresses(pattern: str, text: str, fits: bool) -> None:
    assert Glob.parse(pattern).matches(Address.parse(text)) is fits


@pytest.mark.parametrize(
    "text", ["", "/", "acme/", "/acme", "acme//docs", "ac**", "***", "acme/[a-z]", "acme/?", "acme/{a,b}", "a b", "x" * 101, "acme\n"]
)
def test_a_pattern_that_could_never_match_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        Glob.parse(text)


def reference(pattern: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """The definition of a match, by recursion."""

    def within(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return any(within(pattern[1:], text[skip:]) for skip in range(len(text) + 1))
        return text[:1] == pattern[0] and within(pattern[1:], text[1:])

    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(reference(pattern[1:], parts[skip:]) for skip in range(len(parts) + 1))
    return bool(parts) and within(pattern[0], parts[0]) and reference(pattern[1:], parts[1:])


SHORT = st.text("ab", min_size=1, max_size=4)
SHORT_GLOB = st.one_of(st.just("**"), st.text("ab*", min_size=1, max_size=4).filter(lambda text: "**" not in text))


@given(
    st.lists(SHORT_GLOB, min_size=1, max_size=5).filter(lambda pattern: pattern.count("**") <= 2), st.lists(SHORT, min_size=1, max_size=6)
)
def test_matching_agrees_with_its_definition(pattern: list[str], parts: list[str]) -> None:
    assert Glob.parse("/".join(pattern)).matches(Address(tuple(parts))) is reference(tuple(pattern), tuple(parts))


def test_a_hostile_pattern_does_not_blow_up() -> None:
    address = Address(("a" * 100, *(("a", "a" * 100) * 20)))
    pattern = Glob.parse("/".join(["**", "a*" * 30 + "b"] * 2))
    assert calls(lambda: pattern.matches(address)) < 10_000
