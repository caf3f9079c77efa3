"""Section groups, where the reference is silent: who is in one, where they move, what stays when they go."""

from __future__ import annotations

from tests.sandbox.box import Box, Json


def beside(section: str) -> Json:
    return {"after": {"type": "site-section", "id": section}}


def test_a_section_in_a_group_must_leave_it_before_it_joins_another(box: Box) -> None:
    site = box.site()
    section = box.section(site, "Aa")
    one = box.post(f"{site}/section-groups", {"title": "One", "sections": [section]})["id"]
    two = box.post(f"{site}/section-groups", {"title": "Two"})["id"]
    said = f"section {section} is in another group; it leaves that first"
    assert box.refused("POST", f"{site}/section-groups/{two}/sections", {"sectionId": section}) == f"sectionId: {said}"
    assert box.refused("POST", f"{site}/section-groups", {"title": "Three", "sections": [section]}) == f"sections: {said}"
    assert box.ids(f"{site}/section-groups") == [one, two]
    box.delete(f"{site}/section-groups/{one}/sections/{section}")
    joined = box.post(f"{site}/section-groups/{two}/sections", {"sectionId": section})
    assert [child["id"] for child in joined["children"]] == [section]
    assert box.get(f"{site}/sections")["items"][0]["sectionGroup"] == two


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


def test_deleting_a_group_leaves_its_sections_and_groups_at_the_root(box: Box) -> None:
    site = box.site()
    section, other = box.section(site, "Aa"), box.section(site, "Bb")
    outer = box.post(f"{site}/section-groups", {"title": "Outer", "sections": [section]})["id"]
    inner = box.post(f"{site}/section-groups", {"title": "Inner", "parent": outer})
    assert inner["sectionGroup"] == outer
    box.delete(f"{site}/section-groups/{outer}")
    assert box.ids(f"{site}/sections") == [other, section]
    assert not any("sectionGroup" in one for one in [*box.items(f"{site}/sections"), *box.items(f"{site}/section-groups")])


def test_a_moved_group_goes_beside_the_named_section_of_its_level_else_to_the_end(box: Box) -> None:
    site = box.site()
    first, second = box.section(site, "Aa"), box.section(site, "Bb")
    inside = box.section(site, "Cc")
    one = box.post(f"{site}/section-groups", {"title": "One", "sections": [inside]})["id"]
    two = box.post(f"{site}/section-groups", {"title": "Two"})["id"]
    assert box.ids(f"{site}/sections") == [first, second, inside]
    box.move(f"{site}/section-groups/{one}", position=beside(first))
    assert box.ids(f"{site}/sections") == [first, inside, second]
    box.move(f"{site}/section-groups/{one}", position={})
    assert box.ids(f"{site}/section-groups") == [two, one]
    said = box.refused("POST", f"{site}/section-groups/{two}/move", {"position": beside(inside)})
    assert said == "position names a section that does not stand on the same level"


def test_very_deep_groups_are_listed_like_any_other(box: Box) -> None:
    site = box.site()
    parent = None
    with box.store.write():
        for index in range(1200):
            made = {"id": f"g{index}", "title": "x", "organization": "org_a", "site": site.rsplit("/", 1)[1]}
            made |= {"sectionGroup": parent} if parent else {}
            box.store.add("group", "org_a", f"group:{parent}" if parent else f"structure:{made['site']}", made)
            parent = made["id"]
    assert box.get(f"{site}/section-groups")["count"] == 1200
    assert box.items(f"{site}/sections") == []
