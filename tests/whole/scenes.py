"""What is done to organizations with two of everything, and the documents that commands write of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import yaml

from reconciler.sandbox import file
from tests.command_line import Cli
from tests.documents import valid
from tests.harness import Still
from tests.whole.normal import text_of

Tree = dict[str, Any]
DOCUMENTS: Final = Path(__file__).with_name("documents")
DB: Final = "p/.reconciler/sandbox.db"


def page(slug: str, *inside: Tree, **more: Any) -> Tree:
    return {"title": slug.title(), "slug": slug, "pages": list(inside), **more}


REQUESTS: Final = {
    "guides": [{"subject": "Rewrite", "createdBy": "usr_grace", "status": "open", "createdAt": "2020-02-02T00:00:00Z"}],
    "plans": [
        {"subject": "Next year", "createdBy": "usr_grace", "status": "open", "createdAt": "2021-02-02T00:00:00Z"},
        {"subject": "Draft", "createdBy": "usr_grace", "createdAt": "2020-02-02T00:00:00Z"},
    ],
}
SEED: Final[Tree] = {
    "organizations": [{"id": "org_acme", "title": "Acme"}],
    "members": [
        {"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_acme", "id": "usr_linus", "email": "linus@acme.example", "displayName": "Linus", "role": "admin"},
        {"organization": "org_acme", "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "read"},
    ],
    "spaces": [
        {"organization": "org_acme", "id": f"spc_{key}", "title": key.title(), "pages": pages, "changeRequests": REQUESTS.get(key, [])}
        for key, pages in {
            "guides": [page("start"), page("use", page("install"), page("update"))],
            "news": [page("first"), page("second")],
            "salaries": [page("all", markdown="[gone](/spaces/spc_nowhere) and [old](./missing)", updatedAt="2020-01-01T00:00:00Z")],
            "plans": [page("year", markdown="[gone](/spaces/spc_nowhere)", updatedAt="2021-01-01T00:00:00Z")],
            "spare": [page("one"), page("two")],
            "own": [page("mine")],  # nobody manages it
        }.items()
    ],
}


def section(key: str, *spaces: str, **more: Any) -> Tree:
    return {"section": key, "title": key.title(), "path": key, "spaces": [{"space": space, "path": space} for space in spaces], **more}


def site(title: str, *structure: Tree, **more: Any) -> Tree:
    return {"title": title, "visibility": "public", "published": True, "structure": list(structure), **more}


def organization() -> Tree:
    """Two sites with sections and links, two collections, two teams."""
    spaces = {key: {"space": key, "id": f"spc_{key}", "title": key.title(), "template": True} for key in ("guides", "news", "spare")}
    closed = {key: {"space": key, "id": f"spc_{key}", "title": key.title(), "defaultLevel": "guest"} for key in ("salaries", "plans")}
    return {
        "id": "org_acme",
        "title": "Acme",
        "members": {"ada@acme.example": "admin", "linus@acme.example": "admin", "grace@acme.example": "read"},
        "teams": {"writers": {"title": "Writers"}, "editors": {"title": "Editors"}},
        "content": [
            {"collection": "open", "title": "Open", "defaultLevel": "read", "content": [spaces["guides"], spaces["news"]]},
            {"collection": "closed", "title": "Closed", "defaultLevel": "guest", "content": [closed["salaries"], closed["plans"]]},
            spaces["spare"],
        ],
        "sites": {
            "docs": site(
                "Docs",
                section("learn", "guides"),
                section("more", "news", "spare"),
                basename="docs",
                shareLinks={"partners": {"name": "Partners", "active": True}, "press": {"name": "Press", "active": False}},
            ),
            "inside": site(
                "Inside",
                section("pay", "salaries"),
                section("next", "plans"),
                basename="inside",
                visibility="visitor-auth",
                agentsContext="included",
            ),
        },
    }


@contextmanager
def repeatable(cli: Cli) -> Iterator[Cli]:
    """A command line whose sandbox numbers its ids, and which sends one request at a time."""
    numbers = count(1)
    cli.env["RECONCILER_MAX_CONCURRENCY"] = "1"
    with mock.patch.object(file, "secrets", SimpleNamespace(token_hex=lambda _: f"{next(numbers):012x}")):
        yield cli


def document(tree: Tree, **top: Any) -> Tree:
    return {
        "version": 1,
        "project": "p",
        "service": {"sandbox": ".reconciler/sandbox.db", "member": "ada@acme.example"},
        "urls": {"redirects": ["netlify", "nginx"]},
        "access": [
            {"as": "anyone", "sees": ["acme/space/guides"], "mustNotSee": ["acme/space/salaries"], "reason": "salaries are confidential"},
            {"as": {"role": "read"}, "sees": ["acme/space/news"], "mustNotSee": ["acme/space/plans"]},
        ],
        **top,
        "organizations": {"acme": tree},
    }


def write(cli: Cli, tree: Tree, **top: Any) -> None:
    cli.write("p/reconciler.yaml", yaml.safe_dump(document(tree, **top), sort_keys=False))


def applied(cli: Cli, **top: Any) -> Tree:
    """The project, applied; what it declares."""
    tree = organization()
    write(cli, tree, **top)
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump(SEED))
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    return tree


def docs_of(cli: Cli, **commands: str) -> dict[str, Any]:
    """What each command line answers: its exit code, what it says on both streams, and its document, which is as its schema says."""
    seen = {}
    for name, line in commands.items():
        words = line.split()
        reports = words[0] != "access"
        result = cli(*words, *(("--report", "json=document.json") if reports else ()))
        kept = cli.root / "document.json"
        if reports:
            document = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None
        else:
            document = cli.json(*words)
        kept.unlink(missing_ok=True)
        if document is not None:
            valid(document, document["format"].removeprefix("reconciler.").partition("/")[0])
        said = [line for line in result.stderr.splitlines() if line and not line.endswith("…")]
        seen[name] = {"exit": result.exit_code, "stderr": said, "stdout": result.stdout.splitlines(), "document": document}
    return seen


def bound(cli: Cli, address: str) -> str:
    """The id of an object, as the service calls it."""
    rows = cli.json("state", "list", "p")["bindings"]
    return str(next(row["id"] for row in rows if row["address"] == address)).rpartition("/")[2]


def by_hand(cli: Cli, method: str, path: str, body: Any = None) -> Any:
    """What the service answers to a request of somebody else."""
    cli.write("body.json", json.dumps(body))
    sent = cli("api", method, path, *(("--input", "body.json") if body is not None else ()), "--sandbox", DB, code=0)
    return json.loads(sent.stdout) if sent.stdout else None


def faults(cli: Cli, *rules: Mapping[str, Any]) -> None:
    """From now on the service fails in these ways."""
    cli.write("rules.yaml", yaml.safe_dump([*rules]))
    cli("sandbox", "faults", "set", "rules.yaml", "--db", DB, code=0)


CLAIMS: Final = {"type": "object", "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}}, "additionalProperties": False}


def reorganization(cli: Cli) -> dict[str, Any]:
    """Each site has two changes: a section takes the path of another, which leaves; a variant leaves; conditions; a new site; deletes."""
    tree = applied(cli)
    docs, inside = tree["sites"]["docs"], tree["sites"]["inside"]
    by_hand(cli, "PUT", f"/orgs/org_acme/sites/{bound(cli, 'acme/site/docs')}/adaptive-schema", {"jsonSchema": CLAIMS})
    by_hand(cli, "PUT", "/orgs/org_acme/teams", {"title": "By hand"})
    docs["structure"][0] |= {"path": "guides", "condition": 'visitor.claims.plan == "gold"'}
    docs["structure"][1]["path"] = "learn"
    docs["structure"][1]["spaces"].pop()
    inside |= {"visibility": "public", "agentsContext": "excluded"}
    inside["structure"][1]["path"] = "later"
    tree["sites"]["fresh"] = site("Fresh", section("now", "spare"), section("pro", "plans", condition="visitor.claims.pro"))
    tree["content"][1]["defaultLevel"] = "read"
    tree["content"].append(tree["content"][0]["content"].pop())
    del tree["teams"]["editors"]
    write(cli, tree)
    return docs_of(cli, plan="plan p", access="access p", rehearse="rehearse p")


def outside(cli: Cli) -> dict[str, Any]:
    """Others rename, open for two reasons, close, delete, move, and create; two lists cannot be read; the declaration changes beside it."""
    tree = applied(cli)
    docs, inside = (f"/orgs/org_acme/sites/{bound(cli, f'acme/site/{key}')}" for key in ("docs", "inside"))
    by_hand(cli, "PATCH", docs, {"title": "Handbook"})
    by_hand(cli, "PATCH", inside, {"visibility": "public"})
    by_hand(cli, "PATCH", f"/collections/{bound(cli, 'acme/collection/closed')}", {"defaultLevel": "edit"})
    by_hand(cli, "PATCH", f"{docs}/share-links/{bound(cli, 'acme/site/docs/share-link/partners')}", {"active": False})
    by_hand(cli, "PATCH", f"{docs}/sections/{bound(cli, 'acme/site/docs/section/more')}", {"path": "other"})
    by_hand(cli, "DELETE", f"{docs}/site-spaces/{bound(cli, 'acme/site/docs/site-space/spare')}")
    by_hand(cli, "DELETE", f"/orgs/org_acme/teams/{bound(cli, 'acme/team/editors')}")
    by_hand(cli, "POST", "/spaces/spc_news/move", {"parent": None})
    by_hand(cli, "POST", f"{docs}/share-links", {"name": "Everybody"})
    by_hand(cli, "PUT", "/orgs/org_acme/teams", {"title": "By hand"})
    unmanaged = by_hand(cli, "POST", "/orgs/org_acme/sites", {"title": "Not managed", "visibility": "public", "spaces": ["spc_own"]})["id"]
    by_hand(cli, "POST", f"/orgs/org_acme/sites/{unmanaged}/publish")
    tree["teams"]["writers"]["title"] = "Authors"
    tree["sites"]["docs"]["title"] = "Manual"
    tree["sites"]["docs"]["shareLinks"]["press"]["active"] = True
    tree["sites"]["inside"]["structure"][0]["title"] = "Wages"
    checks = {"brokenLinks": 0, "startPages": True, "stalePages": 365, "changeRequests": 30, "outdated": True, "topics": 2}
    searches = [{"site": "docs", "query": "install", "finds": "/learn/**"}, {"site": "docs", "query": "nothing", "finds": "/learn/use"}]
    write(cli, tree, health={**checks, "search": searches})
    seen = docs_of(cli, drift="drift p", health="health p")
    faults(cli, *({"fault": "forbidden", "operation": operation} for operation in ("list_teams", "list_share_links")))
    return seen | docs_of(cli, plan="plan p")  # two lists are missing now


def failures(cli: Cli) -> dict[str, Any]:
    """Two requests of an apply fail, and what depends on them is skipped, positions too."""
    tree = applied(cli)
    docs, inside = tree["sites"]["docs"], tree["sites"]["inside"]
    docs["structure"].append(section("third", "plans"))
    docs["structure"].append(section("fourth", "salaries"))
    docs["structure"].reverse()
    inside["structure"].reverse()
    docs["title"], inside["title"] = "Manual", "Handbook"
    docs["shareLinks"]["late"] = {"name": "Late", "active": True}
    del docs["shareLinks"]["press"], tree["teams"]["editors"]
    tree["teams"]["writers"]["title"] = "Authors"
    write(cli, tree, access=[])
    faults(
        cli, *({"fault": "forbidden", "operation": operation} for operation in ("POST */sections", "PATCH */sites/*", "DELETE */teams/*"))
    )
    return docs_of(cli, apply="apply p --yes --allow-exposure ** --allow-dead-urls /**")


def refusals(cli: Cli) -> dict[str, Any]:
    """A plan that deletes too much and leaves too few admins, and is allowed; files with values of other types."""
    tree = applied(cli)
    tree["teams"].clear()
    tree["members"]["linus@acme.example"] = "read"
    tree["sites"]["docs"]["shareLinks"].clear()
    write(cli, tree, guards={"maxDelete": {"percent": 1, "atLeast": 1}, "minAdmins": 2})
    seen = docs_of(cli, limited="apply p --yes", allowed="plan p --allow-delete 4")
    tree["ai"], tree["title"], tree["inviteLinks"] = "yes", True, 1
    tree["sites"]["docs"] |= {"published": "no", "visibility": False, "adaptiveContent": {"enabled": None}}
    tree["sites"]["inside"] |= {
        "visibility": "${{ vars.open }}",
        "shareLinks": "${{ vars.open }}",
        "adaptiveContent": "${{ not vars.open }}",
    }
    tree["sites"]["inside"]["structure"][0] |= {"default": "true", "path": True}
    variables = {"open": {"type": "boolean", "default": True}}
    write(cli, tree, guards={"minAdmins": False, "maxDelete": True}, urls={"redirects": [True]}, vars=variables)
    return seen | docs_of(cli, wrong="validate p")


def saved(cli: Cli) -> dict[str, Any]:
    """A saved plan of which others made everything invalid, and one that is applied."""
    tree = applied(cli)
    ways = {"acme/team/writers": "orgs/org_acme/teams", "acme/team/editors": "orgs/org_acme/teams", "acme/collection/open": "collections"}
    ways |= {"acme/collection/closed": "collections", "acme/site/docs": "orgs/org_acme/sites"}
    named = [*tree["teams"].values(), *tree["content"][:2], tree["sites"]["docs"]]
    for node in named:
        node["title"] += " 2"
    write(cli, tree)
    cli("plan", "p", "--out", "p/saved.json")
    for address, way in ways.items():
        by_hand(cli, "PATCH", f"/{way}/{bound(cli, address)}", {"title": f"Another {address.rpartition('/')[2]}"})
    seen = docs_of(cli, stale="apply p --plan p/saved.json --yes")
    cli("plan", "p", "--out", "p/again.json")
    return seen | docs_of(cli, applied="apply p --plan p/again.json --yes")


def transfers(cli: Cli) -> dict[str, Any]:
    """A collection and a space go to another organization while the files accept what others opened there."""
    people = [{**member, "organization": key} for key in ("org_acme", "org_beta") for member in SEED["members"]]
    organizations = [*SEED["organizations"], {"id": "org_beta", "title": "Beta"}]
    cli.write("p/sandbox.seed.yaml", yaml.safe_dump({**SEED, "organizations": organizations, "members": people}))
    spaces = {key: {"space": key, "id": f"spc_{key}", "title": key.title()} for key in ("guides", "news", "plans", "spare")}
    collection = {"collection": "closed", "title": "Closed", "defaultLevel": "guest", "content": [spaces["plans"], spaces["spare"]]}
    shared = {"collection": "open", "title": "Open", "defaultLevel": "guest"}

    def write_both(acme: list[Tree], beta: list[Tree], **top: Any) -> None:
        contents = {"acme": ("org_acme", "Acme", acme), "beta": ("org_beta", "Beta", beta)}
        both = {key: {"id": id, "title": title, "content": content} for key, (id, title, content) in contents.items()}
        cli.write("p/reconciler.yaml", yaml.safe_dump(document({}, access=[], **top) | {"organizations": both}, sort_keys=False))

    write_both([spaces["guides"], spaces["news"], collection], [shared | {"content": []}])
    cli("apply", "p", "--yes", "--allow-exposure", "**", code=0)
    by_hand(cli, "PATCH", f"/collections/{bound(cli, 'beta/collection/open')}", {"defaultLevel": "edit"})
    by_hand(cli, "PATCH", "/spaces/spc_guides", {"defaultLevel": "edit"})
    moved = [{"from": f"acme/{what}", "to": f"beta/{what}"} for what in ("collection/closed", "space/news")]
    write_both(
        [spaces["guides"] | {"defaultLevel": "edit"}],
        [shared | {"defaultLevel": "edit", "content": [spaces["news"]]}, collection],
        moved=moved,
    )
    return docs_of(cli, plan="plan p")


Scene = Callable[[Cli], dict[str, Any]]
SCENES: Final[dict[str, Scene]] = {scene.__name__: scene for scene in (reorganization, outside, failures, refusals, saved, transfers)}


def texts(scene: Scene, folder: Path) -> dict[str, str]:
    """The documents of a scene that is played in this folder, as they are kept."""
    with repeatable(Cli(folder, clock=Still())) as cli:
        return {name: text_of(document, str(folder)) for name, document in scene(cli).items()}
