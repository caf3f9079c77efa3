"""Section groups, where the reference is silent: what changes nothing, and great depth."""

from __future__ import annotations

from tests.sandbox.box import Box


def test_joining_the_group_one_is_in_changes_nothing(box: Box) -> None:
    site = box.site()
    first, second = box.section(site, "Aa"), box.section(site, "Bb")
    group = box.post(f"{site}/section-groups", {"title": "One", "sections": [first, second]})
    assert box.post(f"{site}/section-groups/{group['id']}/sections", {"sectionId": first}) == group


def test_leaving_a_group_one_is_not_in_changes_nothing(box: Box) -> None:
    site = box.site()
    section = box.section(site, "Aa")
    one = box.post(f"{site}/section-groups", {"title": "One", "sections": [section]})["id"]
    two = box.post(f"{site}/section-groups", {"title": "Two"})["id"]
    box.delete(f"{site}/section-groups/{two}/sections/{section}")
    assert box.items(f"{site}/sections")[0]["sectionGroup"] == one


def test_very_deep_groups_are_listed_like_any_other(box: Box) -> None:
    site = box.site()
    parent = None
    with box.store.write():
        for index in range(1200):
            made = {"id": f"g{index}", "title": "x", "organization": "org_a", "site": site.rsplit("/", 1)[1]}
            made |= {"sectionGroup": parent} if parent else {}
            box.store.add("group", "org_a", f"group:{parent}" if parent else f"structure:{made['site']}", made)
            parent = made["id"]
    assert (box.get(f"{site}/section-groups")["count"], box.items(f"{site}/sections")) == (1200, [])
