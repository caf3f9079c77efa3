"""Dangerous edits of a living project: each is refused and says the way past it, and with that way taken each goes through.

Through the command line, on the sandbox. A row: its name, the edit, what the refusal says, the way past it as printed, and that way.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command_line import Cli
from tests.proofs import costly, spread
from tests.small import node, small

Document = dict[str, Any]
Edit = Callable[[Document], Any]
DOCS = "acme/site/docs"
REFUSED, PARTLY = 4, 5
MANY = 12  # unprotected objects: more than a run may delete


def base() -> Document:
    """A living project with the guards, the protection and the prune scopes that hold where nothing is written."""
    tree = small() | {"id": "org_acme", "sso": True, "inviteLinks": False, "emailDomains": ["acme.example"]}
    tree["content"].append({"collection": "attic", "title": "Attic", "content": [{"space": "box", "title": "Box", "editMode": "locked"}]})
    tree["teams"] |= {f"t{number}": {"title": f"Team {number}"} for number in range(MANY)}
    tree["openapi"]["pets"]["visibility"] = "private"
    tree["sites"]["docs"]["visibility"] = "unlisted"
    tree["sites"]["docs"]["shareLinks"]["partners"]["active"] = False
    return {
        "version": 1,
        "project": "living",
        "service": {"member": "ada@acme.example", "sandbox": ".reconciler/sandbox.db"},
        "defaults": {"space": {"duplicateOf": "blank"}},
        "organizations": {"acme": tree},
    }


def acme(document: Document) -> Document:
    tree: Document = document["organizations"]["acme"]
    return tree


def site(document: Document, key: str = "docs") -> Document:
    found: Document = acme(document)["sites"][key]
    return found


def without(key: str) -> Edit:
    """The edit that loses the line of one node of the content."""
    return lambda d: acme(d).update(content=[one for one in acme(d)["content"] if key not in (one.get("space"), one.get("collection"))])


def removed(*addresses: str, action: str = "delete") -> Edit:
    return lambda d: d.setdefault("removed", []).extend({"address": address, "action": action} for address in addresses)


def both(*edits: Edit) -> Edit:
    return lambda d: [edit(d) for edit in edits]


def renamed_team(d: Document) -> None:
    teams = acme(d)["teams"]
    teams["authors"] = teams.pop("writers")
    acme(d)["saml"]["okta"]["defaultTeam"] = "authors"


def moved_variant(d: Document) -> None:
    node(acme(d), "guides")["spaces"].remove("four")
    node(acme(d), "more")["spaces"].append("four")


def nested_group(d: Document) -> None:
    structure = site(d)["structure"]
    at = next(index for index, one in enumerate(structure) if one.get("group") == "reference")
    structure[at] = {"group": "outer", "title": "Outer", "structure": [structure[at]]}


@dataclass(frozen=True)
class Danger:
    """`outside`: what somebody did before, as words of `reconciler api`. `way`: the edits of the runs that lead past it; `options` go with
    the last one."""

    name: str
    edit: Edit
    refusal: str
    past: str
    way: tuple[Edit, ...] = ()
    options: tuple[str, ...] = ()
    outside: tuple[tuple[str, ...], ...] = ()
    code: tuple[int, ...] = (REFUSED,)
    freed: tuple[tuple[str, ...], ...] = ()


def exposure(name: str, edit: Edit, says: str, address: str) -> Danger:
    return Danger(name, edit, says, f"--allow-exposure {address}", options=("--allow-exposure", address))


LINK = ("POST", "/orgs/org_acme/sites/{acme/site/flat}/share-links", "-f", "name=Press")
VARIANT = (
    "POST", f"/orgs/org_acme/sites/{{{DOCS}}}/site-spaces", "-f", "spaceId={acme/space/six}",
    "-f", f"sectionId={{{DOCS}/section/more}}",
)  # fmt: skip
STRAY = ("POST", "/orgs/org_acme/sites", "-f", "title=Stray")
COPY = ("POST", "/spaces/{acme/space/six}/duplicate")
INTO_ATTIC = ("POST", "/spaces/{copy}/move", "-f", "parent={acme/collection/attic}")
AWAY = ("POST", "/spaces/{copy}/move", "-f", "parent={acme/collection/product}")

DANGERS = (
    Danger(
        "the line of a protected space goes", without("six"), "'Six' is protected",
        "removed: {address: acme/space/six, action: delete}", (removed("acme/space/six"),),
    ),
    Danger(
        "the block of a protected collection goes with all in it", without("attic"), "'Attic' is protected", "action: delete",
        (removed("acme/collection/attic", "acme/space/box"),),
    ),
    Danger(
        "the block of a protected site goes", lambda d: acme(d)["sites"].pop("flat"), "'Flat' is protected",
        "removed: {address: acme/site/flat, action: delete}", (removed("acme/site/flat"),),
    ),
    Danger(
        "a line goes together with its protection", both(lambda d: d.update(protect=["site"]), without("six")), "'Six' is protected",
        "action: delete", (removed("acme/space/six"),), ("--allow-exposure", "**"),
    ),
    Danger(
        "more is deleted than a run may", lambda d: [acme(d)["teams"].pop(f"t{number}") for number in range(MANY)],
        f"the plan deletes {MANY} objects", f"--allow-delete {MANY}", options=("--allow-delete", str(MANY)),
    ),
    Danger(
        "a site with unmanaged contents is removed", both(lambda d: acme(d)["sites"].pop("flat"), removed("acme/site/flat")),
        "still contains unmanaged share-link 'Press'", "action: delete-all",
        (lambda d: d["removed"][0].update(action="delete-all"),), outside=(LINK,),
    ),
    Danger(
        "a section with unmanaged contents is removed", lambda d: site(d)["structure"].pop(), "still contains unmanaged site-space 'Six'",
        "action: delete-all", (removed(f"{DOCS}/section/more", action="delete-all"),), outside=(VARIANT,),
    ),
    Danger(
        "a collection goes that holds another's space", both(without("attic"), removed("acme/collection/attic", "acme/space/box")),
        "still contains space", "move its contents elsewhere", outside=(COPY, INTO_ATTIC), freed=(AWAY,), code=(REFUSED, PARTLY),
    ),
    Danger(
        "the last admin loses the role", lambda d: acme(d)["members"].update({"ada@acme.example": "read"}), "guards.minAdmins is 1",
        "make somebody else admin first",
        (
            lambda d: acme(d)["members"].update({"linus@acme.example": "admin", "ada@acme.example": "admin"}),
            lambda d: (acme(d)["members"].update({"ada@acme.example": "read"}), d["service"].update(member="linus@acme.example")),
        ), ("--allow-exposure", "**"),
    ),
    Danger(
        "the token's own member loses the role",
        lambda d: acme(d)["members"].update({"ada@acme.example": "read", "linus@acme.example": "admin"}), "owns the token",
        "set service.member to another admin", (lambda d: d["service"].update(member="linus@acme.example"),), ("--allow-exposure", "**"),
    ),
    Danger(
        "single sign-on loses the provider it uses", both(lambda d: acme(d).pop("saml"), removed("acme/saml/okta")),
        "is in use: sso of acme is true", "turn sso of acme off in an earlier run",
        (
            lambda d: (acme(d).update(sso=False, saml=small()["saml"]), d.pop("removed")),
            both(lambda d: acme(d).pop("saml"), removed("acme/saml/okta")),
        ), ("--allow-exposure", "**"),
    ),
    Danger(
        "the type of a site changes", lambda d: site(d).update(type="ultimate"), "type cannot be changed", "or remove the line",
        (lambda d: site(d).pop("type"),),
    ),
    Danger(
        "a variant goes to another section", moved_variant, "it would be replaced", "--allow-replace acme/site/docs/site-space/four",
        options=("--allow-replace", f"{DOCS}/site-space/four"), code=(REFUSED, PARTLY),
    ),
    Danger(
        "a group goes into another", nested_group, "it would be replaced", "--allow-replace acme/site/docs/group/reference",
        options=("--allow-replace", f"{DOCS}/group/reference"), code=(REFUSED, PARTLY),
    ),
    Danger(
        "the key of a team changes", renamed_team, "probably a rename", "write previously: [writers] on acme/team/authors",
        (lambda d: acme(d)["teams"]["authors"].update(previously=["writers"]),), code=(REFUSED, PARTLY),
    ),
    Danger(
        "the key of a space changes", lambda d: node(acme(d), "six").update(space="seven"), "probably a rename",
        "write previously: [six] on acme/space/seven", (lambda d: node(acme(d), "seven").update(previously=["six"]),),
    ),
    Danger(
        "the key of a section changes", lambda d: node(acme(d), "more").update(section="rest"), "probably a rename",
        f"write previously: [more] on {DOCS}/section/rest", (lambda d: node(acme(d), "rest").update(previously=["more"]),),
        code=(REFUSED, PARTLY),
    ),
    Danger(
        "the key of a section changes with all in it",
        lambda d: node(acme(d), "more").update(section="rest", spaces=[{"key": "rest-five", "space": "five"}]), "probably a rename",
        "removed: {address: acme/site/docs/section/more, action: delete}",
        (removed(f"{DOCS}/section/more", f"{DOCS}/site-space/more-five"),),
    ),
    Danger(
        "an id is exchanged for another's", lambda d: node(acme(d), "blank").update(id="spc_other"), "tracks spc_blank",
        "write the tracked id", (lambda d: node(acme(d), "blank").update(id="spc_blank"),), code=(REFUSED, PARTLY),
    ),
    Danger(
        "a site is unpublished", lambda d: site(d).update(published=False), "published cannot be undone", "write published: true",
        (lambda d: site(d).update(published=True),),
    ),
    Danger(
        "all unmanaged sites are pruned", lambda d: d.update(prune={"site": "all"}), "'Stray' is unmanaged and of a protected kind",
        "remove site from protect:, or declare it", (lambda d: acme(d)["sites"].update(stray={"title": "Stray"}),),
        ("--allow-exposure", "prune"), outside=(STRAY,),
    ),
    exposure("unmanaged teams are pruned from now on", lambda d: d.update(prune={"team": "all"}), "unmanaged objects are", "prune"),
    exposure("members are pruned", lambda d: d.update(prune={"member": "owned"}), "objects without a line", "prune"),
    exposure(
        "one run may delete half of it", lambda d: d.update(guards={"maxDelete": {"percent": 50}}), "one run may delete more", "guards"
    ),
    exposure("no admin has to be left", lambda d: d.update(guards={"minAdmins": 0}), "fewer may remain", "guards"),
    exposure(
        "a kind is protected no longer", lambda d: d.update(protect=["space", "collection", "site"]),
        "deleted without further consent", "protect",
    ),
    exposure("a site becomes public", lambda d: site(d).update(visibility="public"), "more people can read it", DOCS),
    exposure("a site is published", lambda d: site(d, "flat").update(published=True), "cannot be undone", "acme/site/flat"),
    exposure("single sign-on is turned off", lambda d: acme(d).update(sso=False), "people can sign in without it", "acme"),
    exposure("invite links are turned on", lambda d: acme(d).update(inviteLinks=True), "everybody with a link may join", "acme"),
    exposure(
        "a domain is added", lambda d: acme(d).update(emailDomains=["acme.example", "mail.example"]),
        "everybody with such an address may join", "acme",
    ),
    exposure("newcomers may do more", lambda d: acme(d).update(defaultRole="admin"), "new members may do more", "acme"),
    exposure(
        "a member becomes admin", lambda d: acme(d)["members"].update({"linus@acme.example": "admin"}), "may do everything",
        "acme/member/linus@acme.example",
    ),
    exposure("nobody must review any more", lambda d: acme(d).update(mergeRules="inherit"), "merging may require fewer reviews", "acme"),
    exposure(
        "a share link is made to work", lambda d: site(d)["shareLinks"]["partners"].update(active=True), "everybody with the link",
        f"{DOCS}/share-link/partners",
    ),
    exposure(
        "a description becomes public", lambda d: acme(d)["openapi"]["pets"].update(visibility="public"), "anyone", "acme/openapi/pets"
    ),
    exposure("a space is unlocked", lambda d: node(acme(d), "box").update(editMode="live"), "people may edit it again", "acme/space/box"),
    exposure("a protection is removed", lambda d: node(acme(d), "six").update(protect=False), "without further consent", "acme/space/six"),
)  # fmt: skip


def write(cli: Cli, document: Document) -> None:
    cli.write("p/reconciler.yaml", yaml.safe_dump(document, allow_unicode=True, sort_keys=False))


@pytest.fixture(scope="module")
def living(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, applied once; every row works on a copy."""
    cli = Cli(tmp_path_factory.mktemp("living"))
    write(cli, base())
    cli("apply", "p", "--yes", "--allow-exposure", "acme", "--allow-exposure", "acme/saml/*", code=0)
    return cli.root


@pytest.fixture
def copy(living: Path, tmp_path: Path) -> Cli:
    shutil.copytree(living, tmp_path / "copy")
    return Cli(tmp_path / "copy")


def call(cli: Cli, words: tuple[str, ...], ids: dict[str, str]) -> None:
    """One request by somebody else; `{address}` stands for an id."""
    for address, id in ids.items():
        words = tuple(word.replace(f"{{{address}}}", id) for word in words)
    result = cli("api", *words, "--project", "p", code=0)
    if words[1].endswith("/duplicate"):
        ids["copy"] = json.loads(result.stdout)["id"]


def bound(cli: Cli) -> dict[str, str]:
    lines = cli("state", "list", "p").stdout.splitlines()
    return {words[0]: words[-1] for words in (line.split() for line in lines if line.startswith("acme"))}


def test_there_are_at_least_25_of_them() -> None:
    assert len({one.name for one in DANGERS}) == len(DANGERS) >= 25


@costly
@pytest.mark.parametrize("danger", spread(DANGERS, 4), ids=lambda one: one.name)
def test_it_is_refused_with_the_way_past_it_and_goes_through_with_that_way_taken(copy: Cli, danger: Danger) -> None:
    ids = bound(copy) if danger.outside else {}
    for words in danger.outside:
        call(copy, words, ids)
    document = base()
    danger.edit(document)
    write(copy, document)
    refused = copy("apply", "p", "--yes")
    told = " ".join((refused.stdout + refused.stderr).split())
    assert refused.exit_code in danger.code, told
    assert danger.refusal in told
    assert danger.past in told
    for words in danger.freed:
        call(copy, words, ids)
    for way in danger.way or (lambda d: None,):
        way(document)
        write(copy, document)
        copy("apply", "p", "--yes", *danger.options, code=0)
    copy("plan", "p", "--detailed-exitcode", code=0)
