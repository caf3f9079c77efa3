"""Any organization can be imported: the plan after it is empty, the files fit the schema, and writing again gives the same bytes."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from reconciler.address import bare
from reconciler.features.importer.project import LIMITS, FileSizes
from tests.certificates import IDP, OTHER, pem
from tests.features.importer.imported import added, everything, fits, imported, written
from tests.harness import ORGANIZATION, SEED, Org
from tests.newer import newer
from tests.proofs import costly, sampled, tries

ODD = [
    "", "Guides", "guides", "Überblick", "مرحبا بالعالم", "🚀", "🚀🚀", "👩‍🚀 Crew", "x" * 50, "a: b # c", "- no", "yes", "null", "~",
    "007", "1.10", "2024-01-01", "${{ vars.x }}", "$${{ x", "{% raw %}", '"quoted"', "it's", "[x]", "{a: b}", "  spaced  ",
    "two\nlines", "tab\there", "\u202eturned", "\x07bell", "\x85next", "\ufeffmark", "\u2028",
    "日本語", "Привет, мир", "Ω mega", "key: |", "<<",
    "*alias", "&anchor", "!tag", "0x1f", "1e5", "true", "...", "---", "@at", "`tick`", "%percent", "a,b", "trailing:", "| pipe", "> fold",
]  # fmt: skip
TITLES = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
SECOND = st.sampled_from(ODD[1:4])  # what is often the same
WORDS = TITLES | SECOND
SHORT = [FileSizes(nodes=0, file=10_000), FileSizes(nodes=1, file=1)]  # lists that are split into files although they are short
ROLES = st.sampled_from(["create", "edit", "read", "comment", None])
RULES = st.sampled_from(
    [
        {"type": "inherit"},
        {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_ada", "usr_odd"]}]},
        {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": ["usr_gone"]}]},
        {"type": "rules", "rules": [{"rule": "${{ new }}", "least": 2, "on": True}]},
        {"type": "future", "x": {"y": [1, None, 1.5, "yes"]}},
    ]
)


def title(words: st.SearchStrategy[str], least: int, most: int) -> st.SearchStrategy[str]:
    return words.map(lambda text: (text + "xx")[:most] if len(text) < least else text[:most])


def seeds() -> st.SearchStrategy[dict[str, Any]]:
    """What the API would not take but an older or newer service may hold."""
    members = [
        {"id": "usr_odd", "email": "O'Dd+x@acme.example", "role": None},
        {"id": "usr_far", "email": "jürgen@acme.example", "role": "edit"},
        {"id": "usr_two", "email": "two@acme.example", "role": "admin"},
    ]
    sites = st.lists(
        st.fixed_dictionaries(
            {"title": title(WORDS, 2, 128)},
            optional={"visibility": st.sampled_from(["public", "members-only"]), "agentsContext": st.sampled_from(["included", "maybe"])},
        ),
        max_size=2,
    )
    spaces = st.lists(
        st.fixed_dictionaries({"title": WORDS}, optional={"editMode": st.sampled_from(["live", "suggest"]), "defaultLevel": ROLES}),
        max_size=3,
    )

    def made(sites: list[dict[str, Any]], spaces: list[dict[str, Any]]) -> dict[str, Any]:
        seed = copy.deepcopy(SEED)
        seed["members"] += [{"organization": ORGANIZATION, **member} for member in members]
        seed["sites"] = [{"organization": ORGANIZATION, "id": f"site_{index}", **one} for index, one in enumerate(sites)]
        seed["spaces"] += [{"organization": ORGANIZATION, "id": f"spc_{index}", **one} for index, one in enumerate(spaces)]
        return seed

    return st.builds(made, sites, spaces)


def build(data: st.DataObject, org: Org, *, again: bool = False) -> None:
    """Make an organization by calls that no plan made."""
    base = f"/orgs/{ORGANIZATION}"
    draw = data.draw
    collections: list[str | None] = [None]
    spaces = ["spc_blank"]
    for _ in range(draw(st.integers(0, 5))):
        parent = draw(st.sampled_from(collections[-2:]))
        made = org.call("POST", f"{base}/collections", {"title": draw(WORDS)[:50]} | ({"parent": parent} if parent else {}))
        collections.append(made["id"])
        if draw(st.booleans()):
            org.call("PATCH", f"/collections/{made['id']}", {"description": draw(WORDS), "defaultLevel": draw(ROLES)})
    for _ in range(draw(st.integers(0, 5))):
        made = org.call("POST", f"/spaces/{draw(st.sampled_from(spaces))}/duplicate")
        org.call("POST", f"/spaces/{made['id']}/move", {"parent": draw(st.sampled_from(collections))})
        patch: dict[str, Any] = {"title": draw(WORDS)[:50]}
        if draw(st.booleans()):
            patch |= {"mergeRules": draw(RULES), "emoji": draw(WORDS)[:10], "language": draw(st.sampled_from(["", "en", "no"]))}
        org.call("PATCH", f"/spaces/{made['id']}", patch)
        spaces.append(made["id"])
    for _ in range(draw(st.integers(0, 3))):
        org.call("PUT", f"{base}/teams", {"title": draw(title(WORDS, 1, 64)), "members": ["usr_linus"]})
    for index in range(draw(st.integers(0, 2))):
        certificate = draw(
            st.sampled_from([IDP, pem(IDP), pem(IDP).replace("\n", "\r\n"), f"CN=idp\n{pem(IDP)}\n", f"${{{{ x\n{pem(OTHER)}"])
        )
        body = {
            "label": draw(title(WORDS, 1, 30)),
            "entityID": draw(st.sampled_from(["e", f"e{index}"])),
            "ssoURL": "https://u.example/in",
            "certificate": certificate,
        }
        org.call("POST", f"{base}/saml", {**body, "ssoURL": "https://u.example/in"})
    if draw(st.booleans()):
        org.call("PUT", f"{base}/openapi/pets", {"source": {"url": "https://x.example/a?b=c&d=$%7B%7B%20e"}})
    for _ in range(draw(st.integers(0, 2))):
        languages = st.sampled_from(["en", "fr"])
        made = org.call(
            "POST",
            f"{base}/translations",
            {"source": {"space": draw(st.sampled_from(spaces)), "language": "en"}, "language": draw(languages)},
        )
        if draw(st.booleans()):
            org.call("POST", f"{base}/translations/{made['id']}/run")
    for _ in range(draw(st.integers(0, 2))):
        site(data, org, base, spaces)
    if not again and draw(st.booleans()):
        org.call(
            "PATCH", base, {"title": draw(title(WORDS, 2, 255)), "emailDomains": ["b.example", "a.example"], "defaultRole": draw(ROLES)}
        )
    if len(spaces) > 1 and draw(st.booleans()):
        org.call("DELETE", f"/spaces/{spaces[-1]}")


def site(data: st.DataObject, org: Org, base: str, spaces: list[str]) -> None:
    draw = data.draw
    some = st.sampled_from(spaces)
    made = org.call("POST", f"{base}/sites", {"title": draw(title(WORDS, 2, 128))})
    at = f"{base}/sites/{made['id']}"
    sections: list[str] = []
    if draw(st.booleans()):
        for _ in range(draw(st.integers(1, 4))):
            section = org.call("POST", f"{at}/sections", {"spaceId": draw(some), "title": draw(title(WORDS, 2, 128))})
            sections.append(section["id"])
            for _ in range(draw(st.integers(0, 2))):
                org.call("POST", f"{at}/site-spaces", {"spaceId": draw(some), "sectionId": section["id"]})
            if draw(st.booleans()):
                org.call("PATCH", f"{at}/sections/{section['id']}", {"icon": draw(WORDS)[:20], "condition": draw(st.none() | WORDS)})
        groups: list[str] = []
        for _ in range(draw(st.integers(0, 2))):
            body: dict[str, Any] = {"title": draw(title(WORDS, 1, 100))}
            if groups and draw(st.booleans()):
                body["parent"] = groups[-1]
            groups.append(org.call("POST", f"{at}/section-groups", body)["id"])
            if sections:
                org.call("POST", f"{at}/section-groups/{groups[-1]}/sections", {"sectionId": sections.pop()})
        if sections and draw(st.booleans()):
            org.call("PATCH", at, {"defaultSiteSection": draw(st.sampled_from(sections))})
    else:
        for _ in range(draw(st.integers(0, 3))):
            org.call("POST", f"{at}/site-spaces", {"spaceId": draw(some)})
    for _ in range(draw(st.integers(0, 2))):
        org.call("POST", f"{at}/share-links", {"name": draw(title(SECOND, 1, 50))})
    if draw(st.booleans()):
        org.call("PATCH", at, {"visibility": draw(st.sampled_from(["public", "share-link"])), "proxy": "acme.example/docs"})
    if draw(st.booleans()):
        org.call("POST", f"{at}/publish", {})


@costly
@sampled
@settings(
    max_examples=tries(40, 5),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(seeds(), st.sampled_from([LIMITS, *SHORT]), st.data())
def test_any_organization_is_imported_and_the_plan_after_it_is_empty(seed: dict[str, Any], limits: FileSizes, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        org = newer(Path(folder), seed, ["suggest", "maybe", "members-only"])
        build(data, org)
        found, plan = imported(org, Path(folder) / "new", limits)
        assert [f"{change.address}: {' '.join(change.actions)} {[delta.name for delta in change.fields]}" for change in plan.changes] == []
        assert (plan.steps, plan.blocked, plan.unknown) == ((), (), ())
        assert fits(Path(folder) / "new") == []
        assert dict(written(everything(org), limits).files) == dict(found.files)
        left = {bare(object.id) for object in plan.unmanaged}
        said = "\n".join(found.missing)
        assert [id for id in left if id not in said] == []


@costly
@sampled
@settings(
    max_examples=tries(25, 3),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.sampled_from([LIMITS, *SHORT]), st.data())
def test_later_objects_are_added_and_every_existing_line_stays(limits: FileSizes, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        org, folder = Org(Path(root)), Path(root) / "new"
        build(data, org)
        imported(org, folder, limits)
        before = {path: path.read_text() + "# a comment at the end\n" for path in folder.rglob("*.yaml")}
        for path, text in before.items():
            path.write_text(text)
        build(data, org, again=True)
        found, plan = added(org, folder)
        assert [f"{change.address}: {' '.join(change.actions)}" for change in plan.changes] == []
        for path, text in before.items():
            now = path.read_text().splitlines()
            assert [line for line in text.splitlines() if line not in now and "[" not in line] == []
        again, _ = added(org, folder)
        assert dict(again.files) == {}
        said = "\n".join(found.missing)
        assert [object.id for object in plan.unmanaged if object.id not in said] == []
