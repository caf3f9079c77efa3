"""What the proof compares is what somebody can see."""

from __future__ import annotations

from collections import Counter

from tests.reliability.seen import as_lists_show, difference

ACME = "root:organization 'Acme' in organizations"
PRODUCTS = f"collection:collection 'Products' in {ACME}"


def lines(*row: str) -> Counter[str]:
    """One row, with a service's numbers: each stands where it is named."""
    return Counter(f"{name} #{rank} {{}}" for rank, name in enumerate(row, start=1))


def test_the_order_of_the_spaces_of_a_collection_is_seen_where_only_lists_are() -> None:
    one, two, inner = f"space 'One' in {PRODUCTS}", f'space "Bob\'s #2" in {PRODUCTS}', f"collection 'Inner' in {PRODUCTS}"
    assert difference(as_lists_show(lines(one, two)), as_lists_show(lines(two, one)))
    assert not difference(as_lists_show(lines(one, inner, two)), as_lists_show(lines(inner, one, two)))


def test_no_list_shows_the_order_at_the_root() -> None:
    one, two, section = f"space 'One' in {ACME}", f"collection 'Two' in {ACME}", "section 'Guides' in site 'Docs'"
    assert not difference(as_lists_show(lines(one, two)), as_lists_show(lines(two, one)))
    assert difference(as_lists_show(lines(one, section)), as_lists_show(lines(section, one)))
