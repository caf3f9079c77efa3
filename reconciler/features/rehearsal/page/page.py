"""The preview as one HTML file that needs nothing else: the first screen as markup, everything else as data that its script shows.

Its policy allows the one script and the one style of the file, by their digests, and no requests. A page that is served may ask its own
server for the texts of pages (`live`). All texts of the service and the YAML are text: in markup they are escaped, and the data has no `<`
that could end its element.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any, Final

from reconciler.features.rehearsal.page.first_screen import CSS, FOLDER, environment, rendered
from reconciler.report.style import PRODUCT
from reconciler.text.escape import as_json

TO_SITE: Final = "#/site/"
TO_REQUEST: Final = "#/requests/"
ABOUT: Final = {
    "readers": "Who can read something. All other numbers of readers are positions in this list.",
    "objects": "What can be read; `created`: by the plan. All other numbers of objects are positions in this list.",
    "start": "For each reader, the objects that they can read before the first request.",
    "moments": "What each request changed, compared with the moment before. `gained`, `lost`: pairs of reader and object; "
    "`dead`, `back`: positions in the list of all paths of `urls`, of URLs that stop answering or answer again. "
    "`opened`, `closed`: pairs that count as newly readable or no longer readable since the start, from now on and no longer.",
    "urls": "Every URL that answers before the first request: `begin` and a path. `pages`: positions in the list `pages`.",
    "newUrls": "The URLs that answer after the last request and did not before, or that answer with another page.",
    "pages": "The space and the id of each page.",
    "audiences": "Lists of readers. `readers` of a part of a site is a position in this list.",
    "before": "`sites` with their groups, sections and variants; `contents`: the pages of each space as [depth, id, title, path, hidden].",
    "after": "The same after the last request; a space that is not in `contents` has the pages that it has in `before`.",
    "texts": "HTML of pages, by space and page.",
}
# Outside strings, JSON has none of these characters.
UNSAFE: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def page(
    document: Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    created_at: datetime,
    texts: Mapping[str, str] | None = None,
    live: bool = False,
) -> str:
    """The whole file. `created_at`: shown in its own time zone. `texts`: safe markup of pages, by `SPACE/PAGE`; None without any.

    `live`: it is served by a server that answers `text?content=SPACE&page=PAGE`.
    """
    css, script = style(), _static("preview.js")
    name = document["project"] + (f" ({document['environment']})" if document["environment"] is not None else "")
    return (
        environment()
        .get_template("page.html")
        .render(
            name=name,
            policy=policy(live=live),
            css=css,
            script=script,
            first=rendered(document, to_site=TO_SITE, to_request=TO_REQUEST),
            document=document,
            created_at=created_at,
            document_json=in_script(document),
            data_json=in_script({"about": ABOUT, **data, "texts": dict(texts) if texts is not None else None, "live": live}),
        )
    )


def style() -> str:
    return PRODUCT.read_text(encoding="utf-8") + CSS.read_text(encoding="utf-8") + _static("preview.css")


def policy(*, live: bool) -> str:
    """The Content-Security-Policy of the file."""
    hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in (style(), _static("preview.js"))]
    own = "connect-src 'self'; " if live else ""
    return f"default-src 'none'; style-src {hashes[0]}; script-src {hashes[1]}; {own}base-uri 'none'; form-action 'none'"


def in_script(value: Any) -> str:
    """JSON that can be inside a `<script>` element, whatever its texts are."""
    return as_json(value, indent=None).translate(UNSAFE)


@cache
def _static(name: str) -> str:
    return (FOLDER / "static" / name).read_text(encoding="utf-8")
