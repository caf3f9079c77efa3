"""Comments on a space and on its change requests, with replies and reactions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictStr

from reconciler.sandbox.body import Body
from reconciler.sandbox.content import revisions
from reconciler.sandbox.content.merging import flat
from reconciler.sandbox.content.places import FAMILIES, Found, Place
from reconciler.sandbox.content.revisions import COMMENT, REPLY, replies_to
from reconciler.sandbox.content.views import CommentView
from reconciler.sandbox.endpoints import Query, Response, Router
from reconciler.sandbox.service import Caller, Fault, Paged, Paging, listing
from reconciler.sandbox.store import Object
from reconciler.sandbox.views import View

router = Router(tags=["Comments"])
Format = Literal["document", "markdown"]
Emoji = Annotated[StrictStr, Field(min_length=1)]


class Text(Body):
    markdown: StrictStr


class TableCell(Body):
    record: StrictStr
    definition: StrictStr


class CommentCreate(Body):
    body: Text
    node: StrictStr | None = None
    page: StrictStr | None = None
    tableCell: TableCell | None = None


class CommentPut(Body):
    resolved: StrictBool = False
    body: Text = Text(markdown="")
    addedReactions: list[Emoji] = Field(default_factory=list)
    removedReactions: list[Emoji] = Field(default_factory=list)


class ReplyCreate(Body):
    body: Text


def _view(place: Place, found: Found) -> CommentView:
    return CommentView(place.caller, found.space["organization"], found.base)


def _comment(place: Place, found: Found, id: str) -> Object:
    one = place.caller.store.find(COMMENT, id)
    if one is None or one["_row"] != found.comments:
        raise Fault(404, f"comment {id} not found")
    return one


def _reply(place: Place, found: Found, comment: str, id: str) -> Object:
    _comment(place, found, comment)
    one = place.caller.store.find(REPLY, id)
    if one is None or one["_comment"] != comment:
        raise Fault(404, f"comment reply {id} not found")
    return one


def _posted(place: Place, found: Found, prefix: str, body: Text) -> Object:
    store = place.caller.store
    by = place.caller.member(found.space["organization"])["id"]
    return {"id": store.new_id(prefix), "postedAt": store.stamp(), "body": body.model_dump(), "_by": by, "_reactions": []}


def _target(place: Place, found: Found, body: CommentCreate) -> Object:
    space, revision = place.content()
    target: Object = {"space": space["id"], "revision": revision["id"]}
    if found.request is not None:
        target["changeRequest"] = found.request["id"]
    if body.page is not None:
        if body.page not in flat(revision["_pages"])[0]:
            raise Fault(400, f"page: there is no page {body.page}")
        target["page"] = {"id": body.page}
    if body.node is not None:
        target["node"] = {"id": body.node}
    if body.tableCell is not None:
        target["tableCell"] = body.tableCell.model_dump()
    return target


def _recount(place: Place, found: Found) -> None:
    """Count the open comments again, on the space or on the change request."""
    store = place.caller.store
    if found.request is None:
        revisions.recount(store, found.space)
    else:
        found.request["comments"] = revisions.count_comments(store, found.comments)
        store.save(revisions.REQUEST, found.request)


def _edit(caller: Caller, view: CommentView, data: Object, body: CommentPut) -> None:
    """Another text and other reactions of the caller's."""
    now = caller.store.stamp()
    if "body" in body.model_fields_set:
        if not view.owns(data):
            raise Fault(403, f"body: {data['id']} was written by someone else")
        data |= {"body": body.body.model_dump(), "editedAt": now}
    mine = [one["emoji"] for one in data["_reactions"] if one["user"] == view.user]
    added = [emoji for emoji in dict.fromkeys(body.addedReactions) if emoji not in mine]
    data["_reactions"] += [{"emoji": emoji, "user": view.user, "at": now} for emoji in added]
    gone = [one for one in data["_reactions"] if one["user"] == view.user and one["emoji"] in body.removedReactions]
    data["_reactions"] = [one for one in data["_reactions"] if one not in gone]


def _resolve(caller: Caller, user: str, data: Object, resolved: bool) -> None:
    if resolved and data["status"] != "resolved":
        data |= {"status": "resolved", "resolvedAt": caller.store.stamp(), "_resolvedBy": user}
    elif not resolved:
        data["status"] = "open"
        data.pop("resolvedAt", None)
        data.pop("_resolvedBy", None)


def _may_remove(view: CommentView, data: Object) -> None:
    if not view.owns(data):
        raise Fault(403, f"{data['id']} was written by someone else")


def _family(base: str, here: Any) -> None:
    """The same endpoints below a space and below a change request."""

    @router.get(f"{base}/comments")
    async def list_comments(
        order: Literal["asc", "desc"] = "desc",
        format: Format = "markdown",
        status: Literal["all", "open", "resolved"] = "all",
        targetPage: str | None = None,
        authors: Annotated[list[str] | None, Query()] = None,
        place: Place = here,
        paging: Paging = Paged,
    ) -> Any:
        found = place.find()
        comments = place.caller.store.select(COMMENT, container=found.comments, newest=order == "desc")
        if status != "all":
            comments = [one for one in comments if one["status"] == status]
        if targetPage is not None:
            comments = [one for one in comments if one["target"].get("page") == {"id": targetPage}]
        if authors:
            comments = [one for one in comments if one["_by"] in authors]
        return listing(comments, paging, _view(place, found).comment)

    @router.post(f"{base}/comments")
    async def post_comment(body: CommentCreate, place: Place = here) -> Any:
        store = place.caller.store
        with store.write():
            found = place.find("comment")
            made = _posted(place, found, "cmt", body.body)
            made |= {"status": "open", "target": _target(place, found, body), "_row": found.comments}
            store.add(COMMENT, found.space["organization"], found.comments, made)
            _recount(place, found)
        return _view(place, found).comment(made)

    @router.get(f"{base}/comments/{{commentId}}")
    async def get_comment(commentId: str, format: Format = "markdown", place: Place = here) -> Any:
        found = place.find()
        return _view(place, found).comment(_comment(place, found, commentId))

    @router.put(f"{base}/comments/{{commentId}}")
    async def put_comment(commentId: str, body: CommentPut, place: Place = here) -> Any:
        caller = place.caller
        with caller.store.write():
            found = place.find("comment")
            view, one = _view(place, found), _comment(place, found, commentId)
            _edit(caller, view, one, body)
            if "resolved" in body.model_fields_set:
                _resolve(caller, view.user, one, body.resolved)
            caller.store.save(COMMENT, one)
            _recount(place, found)
        return view.comment(one)

    @router.delete(f"{base}/comments/{{commentId}}", status_code=204)
    async def remove_comment(commentId: str, place: Place = here) -> Response:
        store = place.caller.store
        with store.write():
            found = place.find("comment")
            one = store.find(COMMENT, commentId)
            if one is not None and one["_row"] == found.comments:
                _may_remove(_view(place, found), one)
                for reply in store.select(REPLY, container=replies_to(commentId)):
                    store.remove(REPLY, reply["id"])
                store.remove(COMMENT, commentId)
                _recount(place, found)
        return Response(status_code=204)

    @router.get(f"{base}/comments/{{commentId}}/replies")
    async def list_replies(commentId: str, format: Format = "markdown", place: Place = here, paging: Paging = Paged) -> Any:
        found = place.find()
        one = _comment(place, found, commentId)
        return listing(place.caller.store.select(REPLY, container=replies_to(one["id"])), paging, _view(place, found).reply)

    @router.post(f"{base}/comments/{{commentId}}/replies")
    async def post_reply(commentId: str, body: ReplyCreate, format: Format = "markdown", place: Place = here) -> Any:
        store = place.caller.store
        with store.write():
            found = place.find("comment")
            one = _comment(place, found, commentId)
            made = {**_posted(place, found, "rpl", body.body), "_comment": one["id"]}
            store.add(REPLY, found.space["organization"], replies_to(one["id"]), made)
        return _view(place, found).reply(made)

    @router.get(f"{base}/comments/{{commentId}}/replies/{{commentReplyId}}")
    async def get_reply(commentId: str, commentReplyId: str, format: Format = "markdown", place: Place = here) -> Any:
        found = place.find()
        return _view(place, found).reply(_reply(place, found, commentId, commentReplyId))

    @router.put(f"{base}/comments/{{commentId}}/replies/{{commentReplyId}}")
    async def put_reply(commentId: str, commentReplyId: str, body: CommentPut, place: Place = here) -> Any:
        caller = place.caller
        with caller.store.write():
            found = place.find("comment")
            view, one = _view(place, found), _reply(place, found, commentId, commentReplyId)
            _edit(caller, view, one, body)
            caller.store.save(REPLY, one)
            if found.request is not None and "resolved" in body.model_fields_set:  # a reply resolves what it replies to
                comment = _comment(place, found, commentId)
                _resolve(caller, view.user, comment, body.resolved)
                caller.store.save(COMMENT, comment)
                _recount(place, found)
        return view.reply(one)

    @router.delete(f"{base}/comments/{{commentId}}/replies/{{commentReplyId}}", status_code=204)
    async def remove_reply(commentId: str, commentReplyId: str, place: Place = here) -> Response:
        store = place.caller.store
        with store.write():
            found = place.find("comment")
            one, comment = store.find(REPLY, commentReplyId), store.find(COMMENT, commentId)
            if one is not None and one["_comment"] == commentId and comment is not None and comment["_row"] == found.comments:
                _may_remove(_view(place, found), one)
                store.remove(REPLY, commentReplyId)
        return Response(status_code=204)

    @router.get(f"{base}/commenters")
    async def list_commenters(place: Place = here, paging: Paging = Paged) -> Any:
        found, store = place.find(), place.caller.store
        posted: list[Object] = []
        for one in store.select(COMMENT, container=found.comments):
            posted += [one, *store.select(REPLY, container=replies_to(one["id"]))]
        users = dict.fromkeys(one["_by"] for one in sorted(posted, key=lambda one: one["postedAt"]))
        organization = found.space["organization"]
        members = [member for user in users if (member := store.find("member", f"{organization}:{user}")) is not None]
        return listing(members, paging, View(place.caller).member)


for family in FAMILIES:
    _family(*family)
