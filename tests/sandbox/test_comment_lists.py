"""Lists of comments, who wrote them, and who may do what with those of others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.box import ADA, CARA, RITA, Box
from tests.sandbox.test_comments import EVA, NOON, SPACE, answered, base, box, name, put, said

__all__ = ["base", "box"]  # the fixtures


# -- filters -----------------------------------------------------------------------------------------------------------------------


def test_comments_are_newest_first_unless_asked_otherwise_and_come_in_pages(box: Box, base: str) -> None:
    posted = [name(said(box, base)) for _ in range(3)]
    at = f"{base}/comments"
    assert box.ids(at) == box.ids(at, order="desc") == posted[::-1]
    assert box.ids(at, order="asc") == posted
    first = box.get(at, order="asc", limit=2)
    assert (first["count"], [item["id"] for item in first["items"]]) == (3, posted[:2])
    assert box.ids(at, order="asc", limit=2, page=first["next"]["page"]) == posted[2:]


def test_replies_have_the_order_of_their_posts_and_come_in_pages(box: Box, base: str) -> None:
    comment = said(box, base)
    posted = [name(answered(box, comment)) for _ in range(3)]
    assert box.ids(f"{comment}/replies") == posted
    first = box.get(f"{comment}/replies", limit=2)
    assert (first["count"], box.ids(f"{comment}/replies", limit=2, page=first["next"]["page"])) == (3, posted[2:])


def test_the_status_filter_shows_open_or_resolved_ones_or_all(box: Box, base: str) -> None:
    kept, done = said(box, base), said(box, base)
    put(box, done, resolved=True)
    at = f"{base}/comments"
    assert box.ids(at, status="open") == [name(kept)]
    assert box.ids(at, status="resolved") == [name(done)]
    assert box.ids(at, status="all") == box.ids(at) == [name(done), name(kept)]


def test_the_page_filter_shows_what_is_about_that_page(box: Box, base: str) -> None:
    page = box.get(f"{base}/content/pages")["pages"][0]["id"]
    about, _ = said(box, base, page=page), said(box, base)
    assert box.ids(f"{base}/comments", targetPage=page) == [name(about)]
    assert box.ids(f"{base}/comments", targetPage="nope") == []


def test_the_author_filter_shows_comments_of_any_of_them(box: Box, base: str) -> None:
    by_ada, by_cara, by_eva = (name(said(box, base, token=token)) for token in (ADA, CARA, EVA))
    answered(box, f"{base}/comments/{by_ada}", token=EVA)
    at = f"{base}/comments"
    assert (box.ids(at, authors="usr_eva"), box.ids(at, authors=["usr_eva", "usr_ada"], order="asc")) == ([by_eva], [by_ada, by_eva])
    assert box.ids(at, authors="usr_rita") == []
    put(box, f"{at}/{by_cara}", resolved=True)
    assert box.ids(at, authors=["usr_cara", "usr_eva"], status="open") == [by_eva]


def test_either_format_shows_the_text_as_markdown(box: Box, base: str) -> None:
    comment = said(box, base, "*Why?*")
    reply = answered(box, comment, "*So.*")
    for path, text in ((f"{base}/comments", "*Why?*"), (comment, "*Why?*"), (f"{comment}/replies", "*So.*"), (reply, "*So.*")):
        for format in ("document", "markdown"):
            found = box.get(path, format=format)
            assert (found["items"][0] if "items" in found else found)["body"] == {"markdown": text}
        assert box.refused("GET", path, params={"format": "html"}).startswith("format")
    sent = box.send("POST", f"{comment}/replies", {"body": {"markdown": "x"}}, params={"format": "document"})
    assert (sent.status_code, sent.json()["body"]) == (200, {"markdown": "x"})


@pytest.mark.parametrize(("field", "value"), [("order", "up"), ("status", "closed"), ("format", "html"), ("limit", "0")])
def test_an_unknown_value_of_a_filter_is_refused(box: Box, base: str, field: str, value: str) -> None:
    assert box.refused("GET", f"{base}/comments", params={field: value}).startswith(field)


# -- who wrote ---------------------------------------------------------------------------------------------------------------------


def test_repliers_are_counted_with_their_latest_change(box: Box, base: str) -> None:
    comment = said(box, base)
    box.clock(NOON)
    first = answered(box, comment, token=CARA)
    answered(box, comment, token=EVA)
    by_eva = box.clock()
    box.clock(advance=60)
    answered(box, comment, token=CARA)
    last = box.clock(advance=60)
    put(box, first, CARA, body={"markdown": "Rather so."})
    shown = box.get(comment)
    found = [(one["user"]["id"], one["count"], one["updatedAt"]) for one in shown["repliers"]]
    assert (shown["replies"], found) == (3, [("usr_cara", 2, last), ("usr_eva", 1, by_eva)])


def test_commenters_are_the_members_who_wrote_a_comment_or_a_reply_each_once(box: Box, base: str) -> None:
    assert box.items(f"{base}/commenters") == []
    box.clock(NOON)
    comment = said(box, base, token=CARA)
    for token in (EVA, CARA, ADA):
        box.clock(advance=60)
        answered(box, comment, token=token)
    put(box, comment, resolved=True)
    found = box.get(f"{base}/commenters", limit=2)
    assert (found["count"], [one["id"] for one in found["items"]]) == (3, ["usr_cara", "usr_eva"])
    assert box.ids(f"{base}/commenters", limit=2, page=found["next"]["page"]) == ["usr_ada"]
    assert {item["object"] for item in found["items"]} == {"member"}
    assert box.items("/spaces/spc_two/commenters") == []


def test_a_comment_outlives_the_membership_of_who_wrote_it(box: Box, base: str) -> None:
    comment = said(box, base, token=EVA)
    box.delete("/orgs/org_a/members/usr_eva")
    shown = box.get(comment)
    assert (shown["postedBy"]["id"], shown["postedBy"]["displayName"]) == ("usr_eva", "Eva")
    assert box.ids(f"{base}/comments", authors="usr_eva") == [name(comment)]
    assert box.ids(f"{base}/commenters") == []


# -- who may -----------------------------------------------------------------------------------------------------------------------


def test_a_reader_sees_comments_and_may_not_write_react_resolve_or_delete(box: Box, base: str) -> None:
    comment = said(box, base)
    reply = answered(box, comment)
    text = {"body": {"markdown": "x"}}
    tries: list[tuple[str, str, Any]] = [("POST", f"{base}/comments", text), ("POST", f"{comment}/replies", text)]
    tries += [("PUT", path, body) for path in (comment, reply) for body in (text, {"resolved": True}, {"addedReactions": ["2764"]})]
    tries += [("DELETE", reply, None), ("DELETE", comment, None)]
    before = box.get(comment), box.get(reply)
    for method, path, body in tries:
        assert box.refused(method, path, body, token=RITA, status=403) == "you need the role comment for this"
    assert (box.get(comment), box.get(reply)) == before
    for path in (comment, reply):
        assert box.send("GET", path, token=RITA).json()["permissions"] == {"view": True, "edit": False, "reply": False, "delete": False}


def test_only_the_author_and_admins_edit_and_delete(box: Box, base: str) -> None:
    comment = said(box, base, token=EVA)
    for path in (answered(box, comment, token=EVA), comment):
        asked = {token: box.send("GET", path, token=token).json()["permissions"] for token in (ADA, CARA, EVA)}
        mine, others = (
            {"view": True, "edit": True, "reply": True, "delete": True},
            {"view": True, "edit": False, "reply": True, "delete": False},
        )
        assert asked == {ADA: mine, EVA: mine, CARA: others}
        message = box.refused("PUT", path, {"body": {"markdown": "x"}, "addedReactions": ["2764"]}, token=CARA, status=403)
        assert message == f"body: {name(path)} was written by someone else"
        assert box.refused("DELETE", path, token=CARA, status=403) == f"{name(path)} was written by someone else"
        assert (box.get(path)["reactions"], put(box, path, EVA, body={"markdown": "mine"})["body"]) == ([], {"markdown": "mine"})
        assert put(box, path, body={"markdown": "an admin's"})["postedBy"]["id"] == "usr_eva"
        box.delete(path)
        box.refused("GET", path, status=404)


def test_who_lost_the_role_keeps_the_comment_and_may_no_longer_edit_it(box: Box, base: str) -> None:
    comment = said(box, base, token=EVA)
    box.patch("/orgs/org_a/members/usr_eva", {"role": "read"})
    assert box.send("GET", comment, token=EVA).json()["permissions"] == {"view": True, "edit": False, "reply": False, "delete": False}
    box.refused("PUT", comment, {"body": {"markdown": "x"}}, token=EVA, status=403)
    box.refused("DELETE", comment, token=EVA, status=403)


def test_a_deleted_space_shows_its_comments_and_takes_no_more(box: Box, base: str) -> None:
    comment = said(box, base)
    box.delete(SPACE)
    assert box.ids(f"{base}/comments") == [name(comment)]
    for method, path, body in (
        ("POST", f"{base}/comments", {"body": {"markdown": "x"}}),
        ("PUT", comment, {"resolved": True}),
        ("DELETE", comment, None),
    ):
        assert box.refused(method, path, body, status=404) == "space spc_one is deleted"
