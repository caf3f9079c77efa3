"""Translations: runs that wait, work and end by the service's clock, and the space they fill."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field, StrictStr

from reconciler.sandbox.body import Open
from reconciler.sandbox.content import revisions, rich, tree
from reconciler.sandbox.file import iso
from reconciler.sandbox.service import RANKS, Caller, Fault
from reconciler.sandbox.store import Object, Store

KIND = "translation"
RUNNING, COMPLETED = 1.0, 2.0  # seconds of the service's clock after a run was asked for
Some = Annotated[StrictStr, Field(min_length=1)]


class Source(Open):
    space: Some
    language: Some | None = None


class TranslationCreate(Open):
    source: Source
    language: Some
    instructions: rich.RichDocument = Field(default_factory=rich.empty)


def create(store: Store, organization: str, body: TranslationCreate) -> Object:
    """A translation that waits for its first run."""
    source, now = _space(store, organization, body.source.space), store.stamp()
    if source is None:
        raise Fault(400, f"source.space: there is no space {body.source.space}")
    translation = {
        "id": store.new_id("trn"),
        "source": {"space": source["id"], "language": body.source.language or source.get("language", "en")},
        "language": body.language,
        "instructions": body.instructions,
        "createdAt": now,
        "updatedAt": now,
        "organization": organization,
        "_ended": [],
    }
    return store.add(KIND, organization, f"{KIND}:{organization}", translation)


def run(store: Store, translation: Object) -> None:
    """Begin a run; one that is under way is left alone. The first run makes the space of the result, later ones write it again."""
    now = store.now().timestamp()
    translation.pop("_shown", None)
    last = translation.get("_run")
    if last is not None:
        if now - last["started"] < COMPLETED:
            return
        translation["_ended"].append(last)
    source = _space(store, translation["organization"], translation["source"]["space"])
    if source is None:
        raise Fault(404, f"space {translation['source']['space']} not found")
    target = _space(store, translation["organization"], last["space"]) if last is not None else None
    if target is None:
        target = tree.duplicate(store, source)
        target |= {"title": f"{source['title']} ({translation['language']})"[:50], "language": translation["language"]}
        store.save("space", target)
    else:
        revisions.rewrite(store, target, tree.fresh(store, source.get("_pages", [])), source.get("_files", []))
    pages_of = list(_walk(source.get("_pages", [])))
    word_count = sum(_words(page) for page in pages_of)
    translation["_run"] = {
        "started": now,
        "space": target["id"],
        "revision": target["revision"],
        "pages": len(pages_of),
        "words": word_count,
    }
    translation["updatedAt"] = store.stamp()
    store.save(KIND, translation)


def _space(store: Store, organization: str, id: str) -> Object | None:
    """A space of the organization that is not deleted."""
    space = store.find("space", id)
    return None if space is None or space["organization"] != organization or space.get("deletedAt") else space


def _walk(pages: Any) -> list[Object]:
    """All pages at any depth; what is not a page is passed over."""
    waiting, walked = [pages], []
    while waiting:
        level = waiting.pop()
        if isinstance(level, list):
            walked += [page for page in level if isinstance(page, dict)]
            waiting += [page.get("pages") for page in level if isinstance(page, dict)]
    return walked


def _words(page: Object) -> int:
    return sum(len(page[name].split()) for name in ("title", "description", "markdown") if isinstance(page.get(name), str))


def show(caller: Caller, translation: Object) -> Object:
    """The translation as it stands now; what the last completed run gave is shown until the next one is completed.

    The space of the first run is shown from its beginning: it exists, and nobody else says what it is.
    """
    now, last, organization = caller.store.now().timestamp(), translation.get("_run"), translation["organization"]
    ended, status, updated = list(translation["_ended"]), "pending", translation["updatedAt"]
    if last is not None:
        age = now - last["started"]
        status = "pending" if age < RUNNING else "running" if age < COMPLETED else "completed"
        if status == "completed":
            ended.append(last)
            updated = max(updated, iso(datetime.fromtimestamp(last["started"] + COMPLETED, UTC)))
    kept = {key: value for key, value in translation.items() if not key.startswith("_") and key != "organization"}
    latest, shown = ended[-1] if ended else {"pages": 0, "words": 0}, ended[-1] if ended else last
    return {
        "object": KIND,
        **kept,
        "status": status,
        "updatedAt": updated,
        **({"result": {name: shown[name] for name in ("space", "revision")}} if shown is not None else {}),
        "stats": {
            "runs": len(ended),
            "totalWords": sum(ended_run["words"] for ended_run in ended),
            "totalPages": sum(ended_run["pages"] for ended_run in ended),
            "totalDuration": COMPLETED * len(ended),
            "latestRunDuration": COMPLETED if ended else 0,
            "latestPages": latest["pages"],
            "latestWords": latest["words"],
        },
        **translation.get("_shown", {}),
        "permissions": {"view": True, "edit": caller.rank(organization) >= RANKS.index("create")},
        "urls": {"location": f"{caller.service.base}/v1/orgs/{organization}/translations/{translation['id']}"},
    }
