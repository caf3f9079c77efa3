"""Comments on a space and on a change request: the same two families, so every claim holds for both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.box import ADA, BOB, CARA, SEED, Box

SPACE = "/spaces/spc_one"
REQUEST = f"{SPACE}/change-requests/1"
EVA = "token-eva"
COMMENTER = {"organization": "org_a", "id": "usr_eva", "email": "eva@acme.example", "displayName": "Eva", "role": "comment"}
WITH_EVA = SEED | {"members": [*SEED["members"], COMMENTER], "tokens": [*SEED["tokens"], {"token": EVA, "member": "usr_eva"}]}
NOON = "2041-01-01T12:00:00Z"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    made = Box(tmp_path, WITH_EVA)
    made.post(f"{SPACE}/change-requests")
    yield made
    made.close()


@pytest.fixture(params=[SPACE, REQUEST], ids=["space", "change request"])
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def said(box: Box, base: str, markdown: str = "Why?", token: str = ADA, **more: Any) -> str:
    """The path of a new comment."""
    return f"{base}/comments/{box.post(f'{base}/comments', {'body': {'markdown': markdown}, **more}, status=200, token=token)['id']}"


def answered(box: Box, comment: str, markdown: str = "Because.", token: str = ADA) -> str:
    """The path of a new reply."""
    made = box.post(f"{comment}/replies", {"body": {"markdown": markdown}}, status=200, token=token)
    return f"{comment}/replies/{made['id']}"


def put(box: Box, path: str, token: str = ADA, **body: Any) -> Any:
    answer = box.send("PUT", path, body, token=token)
    assert answer.status_code == 200, answer.text
    return answer.json()


def name(path: str) -> str:
    return path.rsplit("/", 1)[1]


# -- posting and reading -----------------------------------------------------------------------------------------------------------


def test_a_new_comment_is_open_and_has_the_documented_fields(box: Box, base: str) -> None:
    now = box.clock(NOON)
    one = box.post(f"{base}/comments", {"body": {"markdown": "Why?"}}, status=200)
    named = "object id postedBy postedAt reactions replies repliers body target urls permissions status"
    assert sorted(one) == sorted(named.split())
    assert (one["object"], one["status"], one["body"]) == ("comment", "open", {"markdown": "Why?"})
    assert (one["postedAt"], one["postedBy"]["id"]) == (now, "usr_ada")
    assert (one["replies"], one["repliers"], one["reactions"]) == (0, [], [])
    assert one["permissions"] == {"view": True, "edit": True, "reply": True, "delete": True}
    assert box.get(f"{base}/comments/{one['id']}") == one == box.items(f"{base}/comments")[0]
    assert box.get(one["urls"]["location"].split("/v1", 1)[1]) == one


def test_a_comment_says_what_it_is_about(box: Box, base: str) -> None:
    page = box.get(f"{base}/content/pages")["pages"][0]["id"]
    cell = {"record": "r", "definition": "d"}
    target = box.get(said(box, base, page=page, node="n", tableCell=cell))["target"]
    about = {"space": "spc_one", "revision": box.get(f"{base}/content")["id"]}
    if base == REQUEST:
        about["changeRequest"] = box.get(REQUEST)["id"]
    assert target == about | {"page": {"id": page}, "node": {"id": "n"}, "tableCell": cell}
    assert box.get(said(box, base))["target"] == about


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ({"body": "Why?"}, "body"),
        ({"body": {}}, "body.markdown"),
        ({"body": {"markdown": 1}}, "body.markdown"),
        ({"body": {"markdown": "x"}, "page": "nope"}, "page"),
        ({"body": {"markdown": "x"}, "node": 1}, "node"),
        ({"body": {"markdown": "x"}, "tableCell": {"record": "r"}}, "tableCell.definition"),
    ],
)
def test_a_wrong_comment_is_refused_and_not_posted(box: Box, base: str, body: Any, field: str) -> None:
    assert box.refused("POST", f"{base}/comments", body).startswith(field)
    assert box.items(f"{base}/comments") == []


def test_an_edit_changes_the_text_and_says_when(box: Box, base: str) -> None:
    comment = said(box, base)
    for path in (comment, answered(box, comment)):
        before = box.get(path)
        now = box.clock(NOON)
        assert put(box, path, body={"markdown": "Better"}) == before | {"body": {"markdown": "Better"}, "editedAt": now}
    shown = box.get(comment)
    assert (shown["body"], shown["editedAt"], shown["replies"]) == ({"markdown": "Better"}, now, 1)


@pytest.mark.parametrize("body", [{"resolved": "yes"}, {"body": None}, {"addedReactions": [""]}, {"removedReactions": "+1"}])
def test_a_wrong_edit_is_refused_and_changes_nothing(box: Box, base: str, body: Any) -> None:
    comment = said(box, base)
    for path in (comment, answered(box, comment)):
        before = box.get(path)
        assert box.refused("PUT", path, body).startswith(next(iter(body)))
        assert box.get(path) == before


def test_an_empty_edit_changes_nothing(box: Box, base: str) -> None:
    comment = said(box, base)
    reply = answered(box, comment)
    put(box, comment, resolved=True)
    for path in (comment, reply):
        assert box.get(path) == put(box, path) == box.get(path)


# -- reactions ---------------------------------------------------------------------------------------------------------------------


def test_a_reaction_counts_once_for_each_user_and_says_who_and_when(box: Box, base: str) -> None:
    comment = said(box, base)
    for path in (comment, answered(box, comment)):
        first = box.clock(NOON)
        put(box, path, addedReactions=["1f44d", "1f44d"])
        then = box.clock(advance=60)
        put(box, path, addedReactions=["1f44d"])
        put(box, path, CARA, addedReactions=["1f44d", "2764"])
        thumb, heart = box.get(path)["reactions"]
        assert [(one["user"]["id"], one["reactedAt"]) for one in thumb["users"]] == [("usr_ada", first), ("usr_cara", then)]
        assert (thumb["emoji"], thumb["count"], heart["emoji"], heart["count"]) == ("1f44d", 2, "2764", 1)
        assert "editedAt" not in box.get(path)


def test_a_user_takes_away_only_reactions_of_their_own(box: Box, base: str) -> None:
    comment = said(box, base)
    for path in (comment, answered(box, comment)):
        put(box, path, addedReactions=["1f44d", "2764"])
        put(box, path, CARA, addedReactions=["1f44d"])
        shown = put(box, path, CARA, removedReactions=["1f44d", "2764", "1f600"])["reactions"]
        assert [(one["emoji"], one["count"]) for one in shown] == [("1f44d", 1), ("2764", 1)]
        assert shown[0]["users"][0]["user"]["id"] == "usr_ada"
        assert put(box, path, removedReactions=["1f44d", "2764"])["reactions"] == []


# -- resolving ---------------------------------------------------------------------------------------------------------------------


def test_who_resolved_a_comment_first_and_when_stays_until_it_is_opened_again(box: Box, base: str) -> None:
    comment = said(box, base)
    now = box.clock(NOON)
    put(box, comment, EVA, resolved=True)
    later = box.clock(advance=60)
    shown = put(box, comment, resolved=True)
    assert (shown["status"], shown["resolvedAt"], shown["resolvedBy"]["id"]) == ("resolved", now, "usr_eva")
    shown = put(box, comment, resolved=False)
    assert (shown["status"], "resolvedAt" in shown, "resolvedBy" in shown) == ("open", False, False)
    shown = put(box, comment, resolved=True)
    assert (shown["resolvedAt"], shown["resolvedBy"]["id"]) == (later, "usr_ada")


def test_a_reply_resolves_its_comment_on_a_change_request_only(box: Box, base: str) -> None:
    comment = said(box, base)
    reply = answered(box, comment)
    put(box, reply, EVA, resolved=True)
    shown = box.get(comment)
    if base == SPACE:
        assert (shown["status"], "resolvedBy" in shown) == ("open", False)
    else:
        assert (shown["status"], shown["resolvedBy"]["id"], box.get(base)["comments"]) == ("resolved", "usr_eva", 0)
    put(box, reply, resolved=False)
    assert (box.get(comment)["status"], box.get(base)["comments"]) == ("open", 1)


def test_the_open_comments_are_counted_where_they_are(box: Box, base: str) -> None:
    other = REQUEST if base == SPACE else SPACE
    first, second = said(box, base), said(box, base)
    answered(box, first)
    assert (box.get(base)["comments"], box.get(other)["comments"]) == (2, 0)
    put(box, first, resolved=True)
    assert box.get(base)["comments"] == 1
    box.delete(second)
    assert box.get(base)["comments"] == 0
    put(box, first, resolved=False)
    assert (box.get(base)["comments"], box.get(other)["comments"]) == (1, 0)


# -- deleting ----------------------------------------------------------------------------------------------------------------------


def test_deleting_a_comment_deletes_its_replies_and_no_others(box: Box, base: str) -> None:
    comment, other = said(box, base), said(box, base)
    reply, kept = answered(box, comment), answered(box, other)
    box.delete(comment)
    assert box.refused("GET", comment, status=404) == f"comment {name(comment)} not found"
    box.refused("GET", reply, status=404)
    box.refused("GET", f"{comment}/replies", status=404)
    assert [one["id"] for one in box.store.select("comment-reply")] == [name(kept)]
    assert box.ids(f"{base}/comments") == [name(other)]


def test_deleting_a_reply_leaves_the_comment_and_the_other_replies(box: Box, base: str) -> None:
    comment = said(box, base)
    first, second = answered(box, comment), answered(box, comment)
    box.delete(first)
    box.delete(first)
    assert box.ids(f"{comment}/replies") == [name(second)]
    assert box.get(comment)["replies"] == 1
    assert box.refused("GET", first, status=404) == f"comment reply {name(first)} not found"


def test_deleting_an_absent_object_answers_204(box: Box, base: str) -> None:
    comment = said(box, base)
    for path in (f"{base}/comments/no", f"{base}/comments/no/replies/no", f"{comment}/replies/no"):
        box.delete(path)
    assert box.get(base)["comments"] == 1


# -- what belongs elsewhere ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("elsewhere", ["/spaces/spc_two", SPACE, REQUEST, f"{SPACE}/change-requests/2"])
def test_a_comment_of_somewhere_else_is_not_found_and_not_deleted(box: Box, base: str, elsewhere: str) -> None:
    box.post(f"{SPACE}/change-requests")
    comment = said(box, base)
    reply = answered(box, comment)
    if elsewhere == base:
        elsewhere = "/spaces/spc_root"
    wrong, below = f"{elsewhere}/comments/{name(comment)}", f"{elsewhere}/comments/{name(comment)}/replies/{name(reply)}"
    for method, path in (("GET", wrong), ("PUT", wrong), ("GET", f"{wrong}/replies"), ("GET", below), ("PUT", below)):
        message = box.refused(method, path, {"resolved": True} if method == "PUT" else None, status=404)
        assert message == f"comment {name(comment)} not found"
    box.refused("POST", f"{wrong}/replies", {"body": {"markdown": "x"}}, status=404)
    box.delete(below)
    box.delete(wrong)
    assert box.ids(f"{elsewhere}/comments") == []
    assert (box.get(comment)["status"], box.ids(f"{comment}/replies")) == ("open", [name(reply)])


def test_a_reply_to_another_comment_is_not_found_and_not_deleted(box: Box, base: str) -> None:
    comment, other = said(box, base), said(box, base)
    reply = answered(box, comment)
    wrong = f"{other}/replies/{name(reply)}"
    box.refused("GET", wrong, status=404)
    box.refused("PUT", wrong, {"addedReactions": ["2764"]}, status=404)
    box.delete(wrong)
    assert box.get(reply)["reactions"] == []


def test_strangers_find_no_comments(box: Box, base: str) -> None:
    comment = said(box, base)
    for method, path in (
        ("GET", comment),
        ("PUT", comment),
        ("DELETE", comment),
        ("GET", f"{base}/comments"),
        ("GET", f"{base}/commenters"),
    ):
        assert box.refused(method, path, {} if method == "PUT" else None, token=BOB, status=404) == "space spc_one not found"
