"""Edits behind the tool's back: every field of every kind with a value somebody else gives it, and what drift says then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reconciler.address import Address
from reconciler.resource import Field, FieldRole, Kind, Verb
from tests.certificates import OTHER, pem
from tests.harness import Org, kinds
from tests.small import node, small


def everything() -> dict[str, Any]:
    """The small organization with every field of every kind written somewhere."""
    tree = small()
    tree |= {
        "emailDomains": ["acme.example"], "hostname": "acme-docs", "logo": "https://acme.example/logo.png", "sso": False, "ai": False,
        "inviteLinks": False,
    }  # fmt: skip
    node(tree, "other")["defaultLevel"] = "read"
    node(tree, "one").update(editMode="live", defaultLevel="read", language="en", mergeRules="inherit")
    tree["sites"]["docs"] |= {"type": "premium", "agentsContext": "included", "adaptiveContent": {"enabled": True}}
    tree["sites"]["flat"]["published"] = False
    tree["agentInstructions"] = "Answer in plain English."
    tree["sites"]["docs"]["adaptiveSchema"] = _claims("isBeta")
    tree["members"]["linus@acme.example"]["sso"] = False
    tree["translations"] = {"one-fr": {"source": {"space": "one", "language": "en"}, "language": "fr", "instructions": "Keep our names."}}
    tree["integrations"] = {"acme-charts": _integration()}
    tree["installations"] = {"charts": {"integration": "acme-charts"}}
    node(tree, "guides").update(icon="book", description="To begin with", condition="visitor.claims.a")
    node(tree, "reference")["icon"] = "code"
    node(tree, "guides")["spaces"][0]["condition"] = "visitor.claims.b"
    return tree


def _integration() -> dict[str, Any]:
    """Something of every field that is no secret."""
    return {
        "title": "Charts", "description": "Charts", "summary": "# Charts", "icon": "iVBORw0KGgo=", "previewImages": ["iVBORw0KGgo="],
        "visibility": "private", "target": "all", "scopes": ["space:content:read"], "categories": ["analytics"],
        "blocks": [{"id": "chart", "title": "Chart"}], "contentSources": [{"id": "rows", "title": "Rows"}],
        "externalLinks": [{"url": "https://charts.example", "label": "Home"}], "contentSecurityPolicy": "default-src 'self'",
        "configurations": {"account": {"properties": {}, "required": []}}, "runtime": "v1", "script": "export default 1",
    }  # fmt: skip


def _claims(name: str) -> dict[str, Any]:
    """The schema of visitors of whom one thing is known, besides what conditions are about."""
    claims = {claim: {"type": "boolean", "description": "Tries what is new"} for claim in (name, *"abcxz")}
    return {"type": "object", "properties": claims, "additionalProperties": False}


def _text(line: str) -> dict[str, Any]:
    """A rich document of one paragraph."""
    leaves = [{"object": "text", "leaves": [{"object": "leaf", "text": line, "marks": []}]}]
    return {"object": "document", "data": {}, "nodes": [{"object": "block", "type": "paragraph", "data": {}, "nodes": leaves}]}


@dataclass(frozen=True)
class Case:
    """A field, the address it is edited at, and the value (request form) it gets; an address stands for its id.

    `accepts`: whether the YAML can say it afterwards by a value. `shown`: what a reading is made to show, where no request changes it.
    """

    kind: str
    field: str
    address: str
    value: Any
    accepts: bool = True
    shown: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}.{self.field}"


SITE, CHARTS = "acme/site/docs", "acme/integration/acme-charts"
CASES = (
    Case("organization", "title", "acme", "Acme Inc ${{ vars.x }}"),
    Case("organization", "emailDomains", "acme", ["acme.example", "beta.example"]),
    Case("organization", "hostname", "acme", "acme-other"),
    Case("organization", "defaultRole", "acme", None),
    Case("organization", "defaultContent", "acme", {"type": "site", "site": Address.parse("acme/site/flat")}),
    Case("organization", "logo", "acme", None),  # which image the copy shows, nothing tells
    Case("organization", "sso", "acme", True),
    Case("organization", "ai", "acme", True),
    Case("organization", "inviteLinks", "acme", True),
    Case("organization", "mergeRules", "acme", {"type": "inherit"}),
    Case("member", "role", "acme/member/linus@acme.example", "comment"),
    Case("member", "sso", "acme/member/linus@acme.example", True),
    Case("team", "title", "acme/team/writers", "Authors: all # of them"),
    Case("collection", "title", "acme/collection/other", "Others"),
    Case("collection", "description", "acme/collection/other", "What is left"),
    Case("collection", "defaultLevel", "acme/collection/other", "edit"),
    Case("collection", "parent", "acme/collection/deep", Address.parse("acme/collection/other"), accepts=False),
    Case("space", "title", "acme/space/one", "007"),
    Case("space", "emoji", "acme/space/one", "📗"),
    Case("space", "editMode", "acme/space/one", "locked"),
    Case("space", "defaultLevel", "acme/space/one", "edit"),
    Case("space", "language", "acme/space/one", "no"),
    Case(
        "space",
        "mergeRules",
        "acme/space/one",
        {"type": "rules", "rules": [{"rule": "require_specific_reviewers", "users": [Address.parse("acme/member/ada@acme.example")]}]},
    ),
    Case("space", "parent", "acme/space/five", Address.parse("acme/collection/deep"), accepts=False),
    Case("saml", "label", "acme/saml/okta", "Okta 2"),
    Case("saml", "entityID", "acme/saml/okta", "http://okta.example/2"),
    Case("saml", "ssoURL", "acme/saml/okta", "https://okta.example/sso2"),
    Case("saml", "certificate", "acme/saml/okta", pem(OTHER)),
    Case("saml", "defaultTeam", "acme/saml/okta", Address.parse("acme/team/unmanaged")),
    Case("saml", "defaultRole", "acme/saml/okta", "read"),
    Case("openapi", "source", "acme/openapi/pets", {"url": "https://pets.example/other.json"}),
    Case("openapi", "visibility", "acme/openapi/pets", "private"),
    Case("site", "title", SITE, "Handbook"),
    Case("site", "type", SITE, "ultimate", shown="type"),
    Case("site", "visibility", SITE, "unlisted"),
    Case("site", "basename", SITE, "handbook"),
    Case("site", "published", "acme/site/flat", True),
    Case("site", "agentsContext", SITE, "excluded"),
    Case("site", "adaptiveContent", SITE, {"enabled": False}),
    Case("site", "proxy", SITE, "acme.example/handbook"),
    Case("site", "defaultSiteSection", SITE, Address.parse("acme/site/docs/section/more")),
    Case("site", "defaultSiteSpace", "acme/site/flat", Address.parse("acme/site/flat/site-space/two")),
    Case("section", "sectionGroup", "acme/site/docs/section/api", None, accepts=False),
    Case("section", "title", "acme/site/docs/section/guides", "Manuals"),
    Case("section", "icon", "acme/site/docs/section/guides", "rocket"),
    Case("section", "path", "acme/site/docs/section/guides", "manuals"),
    Case("section", "description", "acme/site/docs/section/guides", "{% hint %} $${{ x }}"),
    Case("section", "condition", "acme/site/docs/section/guides", None),
    Case("section", "defaultSiteSpace", "acme/site/docs/section/guides", Address.parse("acme/site/docs/site-space/one")),
    Case("group", "title", "acme/site/docs/group/reference", "Lookup"),
    Case("group", "icon", "acme/site/docs/group/reference", "book"),
    Case("group", "parent", "acme/site/docs/group/reference", "grp_elsewhere", accepts=False, shown="sectionGroup"),
    Case("site-space", "section", "acme/site/docs/site-space/more-five", "sec_elsewhere", accepts=False, shown="section"),
    Case("site-space", "space", "acme/site/docs/site-space/more-five", Address.parse("acme/space/six")),
    Case("site-space", "path", "acme/site/docs/site-space/one", "v3"),
    Case("site-space", "condition", "acme/site/docs/site-space/one", "visitor.claims.c"),
    Case("share-link", "name", "acme/site/docs/share-link/partners", "Friends"),
    Case("agent-instructions", "instructions", "acme/agent-instructions", _text("Be brief.")),
    Case("adaptive-schema", "jsonSchema", "acme/site/docs/adaptive-schema", _claims("isGamma")),
    Case("translation", "source", "acme/translation/one-fr", {"space": "spc_blank", "language": "de"}, shown="source"),
    Case("translation", "language", "acme/translation/one-fr", "it", shown="language"),
    Case("translation", "instructions", "acme/translation/one-fr", _text("Be brief.")),
    Case("integration", "title", CHARTS, "More charts"),
    Case("integration", "description", CHARTS, "Charts of your own data"),
    Case("integration", "summary", CHARTS, "# More\n\ncharts"),
    Case("integration", "visibility", CHARTS, "public"),
    Case("integration", "target", CHARTS, "site"),
    Case("integration", "scopes", CHARTS, ["space:content:read", "space:content:write"]),
    Case("integration", "categories", CHARTS, ["analytics", "other"]),
    Case("integration", "blocks", CHARTS, [{"id": "chart", "title": "A chart", "urlUnfurl": ["https://charts.example"]}]),
    Case("integration", "contentSources", CHARTS, [{"id": "columns"}]),
    Case("integration", "externalLinks", CHARTS, [{"url": "https://charts.example/docs"}]),
    Case("integration", "configurations", CHARTS, {"site": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}),
    Case("integration", "contentSecurityPolicy", CHARTS, {"default-src": "'none'"}),
    Case("share-link", "active", "acme/site/docs/share-link/partners", False),
)


def fields() -> list[tuple[Kind, Field]]:
    """Every field that can drift: compared, shown by the service, and not what the address itself is made of."""
    found = []
    for kind in kinds().values():
        key_is = getattr(kind.place, "key_is", None)
        if "update" not in kind.api and kind.listed_by is not None:
            continue  # what it is recognized by is all that it has, and that no request can change
        found += [(kind, delta) for delta in kind.fields.values() if delta.compared and delta.readable and delta.name != key_is]
    return found


def edit(org: Org, case: Case) -> None:
    """What somebody else does to the field, by the service's API."""
    kind = kinds()[case.kind]
    field = kind.fields[case.field]
    value = _ids(org, case.value)
    if field.role is FieldRole.MEMBER:
        assert field.leave is not None
        group = org.id(str(Address.parse(case.address).container) + "/group/reference")
        org.call(field.leave.method, _path(org, case, field.leave.path, {str(field.to): group}))
        return
    verb = next(kind.api[name] for name in (*(one.name for one in kind.update_verbs), "move") if name in field.on)
    body = None if field.one_way else {**_whole(org, case, kind, verb), field.wire: value}
    org.call(verb.method, _path(org, case, verb.path, {}), body)


def _whole(org: Org, case: Case, kind: Kind, verb: Verb) -> dict[str, Any]:
    """What a request that replaces the whole object says of the fields that nobody edits."""
    if not verb.whole:
        return {}
    shown = org.call("GET", _path(org, case, verb.path, {}))
    wires = [one.wire for one in kind.sent_by(verb.name) if one.readable]
    return {wire: shown[wire] for wire in wires if wire in shown} | {"organization": "org_acme"}


def _ids(org: Org, value: Any) -> Any:
    match value:
        case Address(key="unmanaged"):
            return org.call("PUT", "/orgs/org_acme/teams", {"title": "Unmanaged", "members": []})["id"]
        case Address():
            return "usr_ada" if value.kind == "member" else org.id(str(value))
        case dict():
            return {key: _ids(org, part) for key, part in value.items()}
        case list():
            return [_ids(org, part) for part in value]
        case _:
            return value


def _path(org: Org, case: Case, path: str, holes: dict[str, str]) -> str:
    address: Address | None = Address.parse(case.address)
    assert address is not None
    holes = {"id": org.id(case.address), "slug": address.key, "name": address.key, **holes}
    while (address := address.container) is not None:
        holes[kinds().of(address).name] = org.id(str(address))
    for name, value in holes.items():
        path = path.replace(f"{{{name}}}", value)
    return path
