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
from reconciler.sandbox.endpoints import Query, Router
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


def _view(place: Place, target: Found) -> CommentView:
    return CommentView(place.caller, target.space["organization"], target.base)


def _comment(place: Place, target: Found, id: str) -> Object:
    comment = place.caller.store.find(COMMENT, id)
    if comment is None or comment["_row"] != target.comments:
        raise Fault(404, f"comment {id} not found")
    return comment


def _reply(place: Place, target: Found, comment: str, id: str) -> Object:
    _comment(place, target, comment)
    reply = place.caller.store.find(REPLY, id)
    if reply is None or reply["_comment"] != comment:
        raise Fault(404, f"comment reply {id} not found")
    return reply


def _posted(place: Place, target: Found, prefix: str, body: Text) -> Object:
    store = place.caller.store
    by = place.caller.member(target.space["organization"])["id"]
    return {"id": store.new_id(prefix), "postedAt": store.stamp(), "body": body.model_dump(), "_by": by, "_reactions": []}


def _target(place: Place, subject: Found, body: CommentCreate) -> Object:
    space, revision = place.content()
    target: Object = {"space": space["id"], "revision": revision["id"]}
    if subject.request is not None:
        target["changeRequest"] = subject.request["id"]
    if body.page is not None:
        if body.page not in flat(revision["_pages"])[0]:
            raise Fault(400, f"page: there is no page {body.page}")
        target["page"] = {"id": body.page}
    if body.node is not None:
        target["node"] = {"id": body.node}
    if body.tableCell is not None:
        target["tableCell"] = body.tableCell.model_dump()
    return target


def _recount(place: Place, target: Found) -> None:
    """Count the open comments again, on the space or on the change request."""
    store = place.caller.store
    if target.request is None:
        revisions.recount(store, target.space)
    else:
        target.request["comments"] = revisions.count_comments(store, target.comments)
        store.save(revisions.REQUEST, target.request)


def _edit(caller: Caller, view: CommentView, data: Object, body: CommentPut) -> None:
    """Another text and other reactions of the caller's."""
    now = caller.store.stamp()
    if "body" in body.model_fields_set:
        if not view.owns(data):
            raise Fault(403, f"body: {data['id']} was written by someone else")
        data |= {"body": body.body.model_dump(), "editedAt": now}
    mine = [reaction["emoji"] for reaction in data["_reactions"] if reaction["user"] == view.user]
    added = [emoji for emoji in dict.fromkeys(body.addedReactions) if emoji not in mine]
    data["_reactions"] += [{"emoji": emoji, "user": view.user, "at": now} for emoji in added]
    gone = [reaction for reaction in data["_reactions"] if reaction["user"] == view.user and reaction["emoji"] in body.removedReactions]
    data["_reactions"] = [reaction for reaction in data["_reactions"] if reaction not in gone]


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
        target = place.find()
        comments = place.caller.store.select(COMMENT, container=target.comments, newest=order == "desc")
        if status != "all":
            comments = [comment for comment in comments if comment["status"] == status]
        if targetPage is not None:
            comments = [comment for comment in comments if comment["target"].get("page") == {"id": targetPage}]
        if authors:
            comments = [comment for comment in comments if comment["_by"] in authors]
        return listing(comments, paging, _view(place, target).comment)

    @router.post(f"{base}/comments")
    async def post_comment(body: CommentCreate, place: Place = here) -> Any:
        store = place.caller.store
        with store.write():
            target = place.find("comment")
            comment = _posted(place, target, "cmt", body.body)
            comment |= {"status": "open", "target": _target(place, target, body), "_row": target.comments}
            store.add(COMMENT, target.space["organization"], target.comments, comment)
            _recount(place, target)
        return _view(place, target).comment(comment)

    @router.get(f"{base}/comments/{{commentId}}")
    async def get_comment(commentId: str, format: Format = "markdown", place: Place = here) -> Any:
        target = place.find()
        return _view(place, target).comment(_comment(place, target, commentId))

    @router.put(f"{base}/comments/{{commentId}}")
    async def put_comment(commentId: str, body: CommentPut, place: Place = here) -> Any:
        caller = place.caller
        with caller.store.write():
            target = place.find("comment")
            view, comment = _view(place, target), _comment(place, target, commentId)
            _edit(caller, view, comment, body)
            if "resolved" in body.model_fields_set:
                _resolve(caller, view.user, comment, body.resolved)
            caller.store.save(COMMENT, comment)
            _recount(place, target)
        return view.comment(comment)

    @router.delete(f"{base}/comments/{{commentId}}", status_code=204)
    async def remove_comment(commentId: str, place: Place = here) -> None:
        store = place.caller.store
        with store.write():
            target = place.find("comment")
            comment = store.find(COMMENT, commentId)
            if comment is not None and comment["_row"] == target.comments:
                _may_remove(_view(place, target), comment)
                for reply in store.select(REPLY, container=replies_to(commentId)):
                    store.remove(REPLY, reply["id"])
                store.remove(COMMENT, commentId)
                _recount(place, target)

    @router.get(f"{base}/comments/{{commentId}}/replies")
    async def list_replies(commentId: str, format: Format = "markdown", place: Place = here, paging: Paging = Paged) -> Any:
        target = place.find()
        comment = _comment(place, target, commentId)
        return listing(place.caller.store.select(REPLY, container=replies_to(comment["id"])), paging, _view(place, target).reply)

    @router.post(f"{base}/comments/{{commentId}}/replies")
    async def post_reply(commentId: str, body: ReplyCreate, format: Format = "markdown", place: Place = here) -> Any:
        store = place.caller.store
        with store.write():
            target = place.find("comment")
            comment = _comment(place, target, commentId)
            reply = {**_posted(place, target, "rpl", body.body), "_comment": comment["id"]}
            store.add(REPLY, target.space["organization"], replies_to(comment["id"]), reply)
        return _view(place, target).reply(reply)

    @router.get(f"{base}/comments/{{commentId}}/replies/{{commentReplyId}}")
    async def get_reply(commentId: str, commentReplyId: str, format: Format = "markdown", place: Place = here) -> Any:
        target = place.find()
        return _view(place, target).reply(_reply(place, target, commentId, commentReplyId))

    @router.put(f"{base}/comments/{{commentId}}/replies/{{commentReplyId}}")
    async def put_reply(commentId: str, commentReplyId: str, body: CommentPut, place: Place = here) -> Any:
        caller = place.caller
        with caller.store.write():
            target = place.find("comment")
            view, reply = _view(place, target), _reply(place, target, commentId, commentReplyId)
            _edit(caller, view, reply, body)
            caller.store.save(REPLY, reply)
            # the API reference has "resolved" on a reply too, where it means the comment that the reply belongs to
            if target.request is not None and "resolved" in body.model_fields_set:
                comment = _comment(place, target, commentId)
                _resolve(caller, view.user, comment, body.resolved)
                caller.store.save(COMMENT, comment)
                _recount(place, target)
        return view.reply(reply)

    @router.delete(f"{base}/comments/{{commentId}}/replies/{{commentReplyId}}", status_code=204)
    async def remove_reply(commentId: str, commentReplyId: str, place: Place = here) -> None:
        store = place.caller.store
        with store.write():
            target = place.find("comment")
            reply, comment = store.find(REPLY, commentReplyId), store.find(COMMENT, commentId)
            if reply is not None and reply["_comment"] == commentId and comment is not None and comment["_row"] == target.comments:
                _may_remove(_view(place, target), reply)
                store.remove(REPLY, commentReplyId)

    @router.get(f"{base}/commenters")
    async def list_commenters(place: Place = here, paging: Paging = Paged) -> Any:
        target, store = place.find(), place.caller.store
        posted: list[Object] = []
        for item in store.select(COMMENT, container=target.comments):
            posted += [item, *store.select(REPLY, container=replies_to(item["id"]))]
        users = dict.fromkeys(item["_by"] for item in sorted(posted, key=lambda item: item["postedAt"]))
        organization = target.space["organization"]
        members = [member for user in users if (member := store.find("member", f"{organization}:{user}")) is not None]
        return listing(members, paging, View(place.caller).member)


for family in FAMILIES:
    _family(*family)
