"""A box whose space `spc_one` has pages, files, variables and links of every kind, and a change request that is still like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sandbox.box import BASE, SEED, Box

SPACE = "/spaces/spc_one"
REQUEST = f"{SPACE}/change-requests/1"

CODE = '<code class="expression">{}</code>'
GREETING = " ".join(CODE.format(one) for one in ("page.vars.name", "space.vars.product", "visitor.claims.plan", "page.vars.none"))
LINKS = (
    f"[a](guide/start) ![b](/files/fil_logo) [c](/spaces/spc_two) [d](/spaces/spc_two/pages/pag_two) [e]({BASE}/app/x) "
    "[f](https://elsewhere.example/guide) [g](#below) [h](nowhere) [i](/files/gone) [j](/spaces/spc_bolt) [k](mailto:a@acme.example)"
)
INFO = {"type": "builtin:openapi", "dependencies": {"spec": {"ref": {"kind": "openapi", "spec": "spec_a"}}}, "props": {}}
PAGES: list[dict[str, Any]] = [
    {
        "id": "pag_guide",
        "title": "Guide",
        "path": "guide",
        "slug": "guide",
        "description": "Where to begin",
        "markdown": LINKS,
        "git": {"oid": "abc", "path": "guide.md"},
        "pages": [
            {
                "id": "pag_start",
                "title": "Start",
                "path": "guide/start",
                "slug": "start",
                "markdown": f"# First steps\n\nInstall it. [up](../guide.md?x=1#top)\n\n## Next steps\n\nRun it.\n\n{GREETING}",
                "variables": {"name": "Ada"},
                "emoji": "1f680",
            },
        ],
    },
    {"id": "pag_api", "title": "API", "path": "api", "slug": "api", "markdown": "Made from:", "computed": INFO},
    {"id": "pag_last", "title": "Last", "markdown": "[a](guide) [b](/guide/) [c](./guide/start.md) [d](</files/fil_logo>)"},
]
FILES: list[dict[str, Any]] = [
    {
        "id": "fil_logo",
        "name": "logo.png",
        "contentType": "image/png",
        "size": 12,
        "dimensions": {"width": 3, "height": 4},
        "git": {"oid": "def", "path": "logo.png"},
    },
    {"id": "fil_text", "name": "text.txt"},
]
HELD: dict[str, dict[str, Any]] = {
    "spc_one": {"pages": PAGES, "files": FILES, "variables": {"product": "Anvil"}},
    "spc_two": {"pages": [{"id": "pag_two", "title": "Two"}]},
}


def library(root: Path) -> Box:
    spaces = [space | HELD.get(space["id"], {}) for space in SEED["spaces"]]
    openapi = [{"organization": "org_a", "id": "spec_a", "slug": "pets"}, {"organization": "org_b", "id": "spec_b", "slug": "bolts"}]
    box = Box(root, SEED | {"spaces": spaces, "openapi": openapi})
    box.post(f"{SPACE}/change-requests")
    return box
