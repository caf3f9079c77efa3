"""Organizations whose sites are served: one to look at, one of hostile texts, and random ones; written into the store directly."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from reconciler.sandbox.sites.structure import level, row, slug
from reconciler.sandbox.store import Object, Store

ORGANIZATION = "org_acme"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "staff": {"type": "boolean", "title": "Works at Acme", "description": "Signed by the company's own login."},
        "plan": {"type": "string", "enum": ["free", "pro", "team"], "title": "Plan"},
        "groups": {"type": "array", "items": {"type": "string", "enum": ["docs", "ops"]}},
        "company": {"type": "object", "properties": {"name": {"type": "string"}, "seats": {"type": "number"}}},
        "unsigned": {"type": "object", "properties": {"beta": {"type": "boolean"}}},
    },
}
CONDITIONS = ("visitor.claims.staff", 'visitor.claims.plan == "pro"', '"docs" in visitor.claims.groups', "visitor.claims.unsigned.beta")
VISIBILITIES = ("public", "public", "unlisted", "share-link", "visitor-auth")
SECRET = "the-key-of-partners"


class Writer:
    """Writes an organization into a store."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root / "sandbox.db")
        self.count = 0
        self._add("organization", "organizations", {"id": ORGANIZATION, "title": "Acme"})

    def _add(self, kind: str, container: str, data: Object) -> Object:
        return self.store.add(kind, ORGANIZATION, container, {"organization": ORGANIZATION, **data})

    def id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count}"

    def space(self, title: str, pages: list[Any], **more: Any) -> str:
        id = self.id("spc")
        data = {"id": id, "title": title, "visibility": "private", "revision": "rev_1", "createdAt": "2026-01-01T00:00:00.000Z", **more}
        self._add("space", f"root:{ORGANIZATION}", {**data, "_pages": pages})
        return id

    def page(self, title: str, *pages: Any, above: str = "", **more: Any) -> Any:
        own = slug(title)
        return {
            "id": self.id("pag"),
            "type": "document",
            "title": title,
            "path": f"{above}{own}",
            "slug": own,
            "pages": list(pages),
            **more,
        }

    def site(self, title: str, **more: Any) -> str:
        id = self.id("site")
        fields = {"title": title, "type": "basic", "visibility": "public", "published": True, "agentsContext": "excluded"}
        self._add("site", f"sites:{ORGANIZATION}", {"id": id, **fields, "adaptiveContent": {"enabled": True}, **more})
        return id

    def group(self, site: str, title: str, group: str | None = None) -> str:
        id = self.id("sitesg")
        above = {"sectionGroup": group} if group else {}
        self._add("group", level(site, group), {"id": id, "site": site, "title": title, **above})
        return id

    def section(self, site: str, title: str, *, group: str | None = None, **more: Any) -> str:
        id = self.id("sitesc")
        above = {"sectionGroup": group} if group else {}
        self._add(
            "section", level(site, group), {"id": id, "site": site, "title": title, "path": slug(title), "default": False, **above, **more}
        )
        return id

    def variant(self, site: str, space: str, path: str, *, section: str | None = None, **more: Any) -> str:
        id = self.id("sites")
        above = {"section": section} if section else {}
        self._add(
            "site-space", row(site, section), {"id": id, "site": site, "_space": space, "path": path, "default": False, **above, **more}
        )
        return id

    def link(self, site: str, name: str, secret: str, *, active: bool = True) -> str:
        id = self.id("link")
        self._add("share-link", f"links:{site}", {"id": id, "site": site, "name": name, "active": active, "_secret": secret})
        return id


# -- one to look at ----------------------------------------------------------------------------------------------------------------

WELCOME = """\
Anvils that fall when they should. This guide takes you from an unopened crate to a **working anvil** in an afternoon.

## Before you begin

You need a level floor, a crate from the [catalog](https://shop.acme.example/anvils), and about *two hours*. Read
[how it is installed](install) first; [prices](/spaces/SECRET) are for staff.

![The crate, opened](/files/fil_1)

1. Open the crate from the top.
2. Check the serial number: `ACME-48-1103`.
3. Keep the `anvil.toml` that is inside:

```toml
[anvil]
weight = 48  # kilograms, a very long line that does not fit on a telephone and has to be scrolled sideways
drop = "on-request"
```

## What it can carry

| model | weight | drop height | for |
|---|---|---|---|
| A-12 | 12 kg | 3 m | practice |
| A-48 | 48 kg | 40 m | everyday use |
| A-96 | 96 kg | 120 m | canyons |

> Never stand below an anvil that is switched on.

### Limits

- The drop height is measured from the lower edge.
- Above 120 m, ask the [operators](https://example.com/canyon).

## Next

Continue with the installation.
"""
LOOK: dict[str, Any] = {
    "title": "Acme Docs",
    "styling": {"primaryColor": {"light": "#0f766e", "dark": "#2dd4bf"}, "infoColor": {"light": "#2563eb", "dark": "#60a5fa"}},
    "header": {
        "logo": {"light": "https://files.acme.example/logo.svg?token=1"},
        "links": [
            {"title": "Shop", "to": {"kind": "url", "url": "https://shop.acme.example/"}},
            {"title": "Status", "to": {"kind": "url", "url": "https://status.acme.example/"}},
        ],
    },
    "footer": {
        "groups": [{"title": "Company", "links": [{"title": "About Acme", "to": {"kind": "url", "url": "https://acme.example/"}}]}],
        "copyright": "© 2026 Acme",
    },
    "announcement": {
        "enabled": True,
        "message": "Anvil 2 has arrived.",
        "style": "info",
        "link": {"title": "What is new", "to": {"kind": "url", "url": "https://acme.example/news"}},
    },
}


def looked_at(root: Path) -> Writer:
    """A site with tabs, a menu, variants, conditions, links and text."""
    made = Writer(root)
    page = made.page
    site = made.site("Docs", basename="docs", agentsContext="included", _look=LOOK, _adaptiveSchema={"jsonSchema": SCHEMA})
    prices = made.space("Prices", [page("Prices for staff", markdown="## Secret prices\n\n12 per kilogram.")])
    first = page("Welcome", markdown=WELCOME.replace("SECRET", prices), description="Your first anvil, step by step.", emoji="1f528")
    pages = [
        first,
        page("Install", page("On Linux", above="install/"), page("On a canyon", above="install/", emoji="🏜"), description="Every floor."),
        page("Operate", page("Switch it on", above="operate/"), page("Drop it", above="operate/"), type="group"),
        page("Draft of a page", hidden=True),
        page("Troubleshooting"),
    ]
    second = made.space("Version 2", pages, _files=[{"id": "fil_1", "name": "crate.png"}])
    older = made.space("Version 1", [page("Welcome", markdown="# Version 1\n\nOlder anvils."), page("Install")])
    guides = made.section(site, "Guides", default=True)
    made.variant(site, second, "v2", section=guides, default=True)
    made.variant(site, older, "v1", section=guides)
    build = made.group(site, "Build on it")
    deep = made.group(site, "Earlier", build)
    api = made.space("API", [page("Overview", markdown="Everything that an anvil can be asked."), page("Errors")])
    for title, group in (("API reference", build), ("Webhooks", build), ("API 1.0", deep)):
        made.variant(site, api, "api", section=made.section(site, title, group=group), default=True)
    staff = made.section(site, "Staff", condition="visitor.claims.staff")
    made.variant(site, prices, "prices", section=staff, default=True)
    made.link(site, "Partners", SECRET)
    made.link(site, "Press of last year", "another-key", active=False)
    return made


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e'
HOSTILE_TEXT = """\
<script>alert(1)</script>

<img src="https://evil.example/a.png" onerror="alert(2)">

[script](javascript:alert(3)) [data](data:text/html,<script>alert(4)</script>) [tab](java&#x09;script:alert(5)) [](https://empty.example/)
[quote](https://a.example/"onmouseover="alert(6)) [up](../../../_sandbox/reset) [vb](VBScript:x) ![x](https://evil.example/b.png "t")
<https://a.example/?a=b&c=d> [ref]

[ref]: javascript:alert(7) "title"

turned &#x202e;around&#8203; and \r done

###### Skips levels
#
# <b>First</b>

| | a |
|---|---|
| [x](file:///etc/passwd) | `<script>` |

```html" onclick="alert(8)
</code></pre><script>alert(9)</script>
```
"""


def hostile(root: Path) -> Writer:
    """The same words of an attacker wherever a text may be."""
    made = Writer(root)
    bad = {"kind": "url", "url": "javascript:alert(1)"}
    look = {
        "title": HOSTILE,
        "styling": {"primaryColor": {"light": "#fff;} body { background: url(https://evil.example/c) }", "dark": "</style><script>"}},
        "header": {"logo": {"light": f"https://evil.example/{HOSTILE}"}, "links": [{"title": HOSTILE, "to": bad}, 5, {"to": 7}]},
        "footer": {"groups": [{"title": HOSTILE, "links": [{"title": HOSTILE, "to": {"url": f"https://a.example/{HOSTILE}"}}]}, None]},
        "announcement": {"enabled": True, "message": HOSTILE, "style": "</style>", "link": {"title": "x", "to": bad}},
    }
    properties = {
        HOSTILE: {"type": "boolean", "title": HOSTILE},
        "a/b": {"type": "string", "enum": [HOSTILE, ""]},
        "c": 5,
        "d": {"type": "number"},
    }
    schema = {"jsonSchema": {"type": "object", "properties": properties}}
    site = made.site(HOSTILE, basename="evil", _look=look, _adaptiveSchema=schema)
    pages = [made.page(HOSTILE, made.page("In", description=HOSTILE), markdown=HOSTILE_TEXT, description=HOSTILE, emoji=HOSTILE)]
    space = made.space(HOSTILE, pages)
    section = made.section(site, HOSTILE, default=True, path="a")
    made.variant(site, space, "b", section=section, default=True)
    made.variant(site, space, "c", section=section)
    made.link(site, HOSTILE, "key")
    return made


# -- random ones -------------------------------------------------------------------------------------------------------------------


def organization(root: Path, seed: int) -> Writer:
    """A random organization with a few sites; paths of sections, variants and pages are often the same word."""
    chance, made = random.Random(seed), Writer(root)

    def pages(depth: int, above: str) -> list[Any]:
        result = []
        for _ in range(chance.choice((0, 1, 2, 4)) if depth else chance.choice((1, 3, 5))):
            title = chance.choice(("Guides", "Install", "Größe", "v2", "a b", "Errors"))
            kind = "group" if chance.random() < 0.2 else "document"
            below = pages(depth + 1, f"{above}{slug(title)}/") if depth < 2 and chance.random() < 0.4 else []
            more = {"hidden": True} if chance.random() < 0.1 else {}
            result.append(made.page(title, *below, above=above, type=kind, **more))
            result[-1]["description"] = f"This is {result[-1]['id']}."
        return result

    spaces = [made.space(f"Space {number}", pages(0, "")) for number in range(5)]
    spaces.append(made.space("Deleted", pages(0, ""), deletedAt="2026-01-02T00:00:00.000Z"))

    def condition() -> dict[str, str]:
        return {"condition": chance.choice(CONDITIONS)} if chance.random() < 0.35 else {}

    for number in range(3):
        site = made.site(
            f"Site {number}",
            visibility=chance.choice(VISIBILITIES),
            published=chance.random() < 0.85,
            agentsContext=chance.choice(("included", "excluded")),
            adaptiveContent={"enabled": chance.random() < 0.7},
            **({"basename": f"site-{number}"} if chance.random() < 0.5 else {}),
        )
        made.link(site, "Partners", f"key-{number}", active=chance.random() < 0.7)
        groups: list[str | None] = [None, made.group(site, "Group")]
        groups.append(made.group(site, "Inner", groups[1]))
        titles = ["Guides", "Install", "v2", "Errors"]
        sections = [
            made.section(site, title, group=chance.choice(groups), default=index == 0, **condition())
            for index, title in enumerate(chance.sample(titles, chance.choice((0, 1, 3))))
        ]
        for section in sections or [None]:
            for index, path in enumerate(chance.sample(["v2", "guides", "install", "old"], chance.choice((1, 2, 3)))):
                made.variant(site, chance.choice(spaces), path, section=section, default=index == 0, **condition())
    return made
