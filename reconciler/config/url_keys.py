"""The keys of `urls:` in a project file.

In: nothing. Out: the keys, from which the file is read, its schema and its reference are generated. Forbidden: reading a file.
"""

from __future__ import annotations

from typing import Final

from reconciler.config.key import Key
from reconciler.config.source.problems import Mistake, shown


def _folder(text: str) -> Mistake | None:
    # A pull request writes this text, and apply writes the files.
    parts = text.rstrip("/").split("/")
    if not text.startswith(("/", "~")) and "\\" not in text and text.isprintable() and not any(part[:1] in ("", ".") for part in parts):
        return None
    return Mistake(
        "RC-file-path", f"urls.to is {shown(text)}; it must be a folder below the project, with / and without parts that begin with a dot"
    )


GONE: Final = (
    Key(
        "url",
        "A path below the site's URL (/v1/**), or a whole URL; * stands for a segment, ** for any number.",
        form="text",
        required=True,
    ),
    Key("reason", "Why nothing answers there any more; the plan shows it.", form="text", required=True),
)

URLS_OF_SERVICE: Final = (
    Key("redirects", "Whether the service itself redirects what is published and moves.", form="flag", default=False),
    Key("case", "Whether case matters in published URLs.", form="choice", options=("sensitive", "insensitive"), default="sensitive"),
)

URLS: Final = Key(
    "urls",
    "What happens to the URLs of published pages that move or end.",
    form="map",
    feature="urls",
    example="redirects: [nginx]",
    more="See [URLs](../urls.md).",
    keys=(
        Key(
            "redirects", "The formats in which apply writes redirects: netlify, cloudflare, nginx, csv, hosted.", role="rule",
            more="Beside them, a CSV file keeps the redirects of each site.",
        ),
        Key(
            "to", "The folder of these files, below the project.", form="text", default="redirects", check=_folder,
            role="content",
        ),
        Key(
            "service", "What the service does with published URLs by itself.", form="map", keys=URLS_OF_SERVICE, role="rule",
            schema={
                "type": "object",
                "properties": {"redirects": {"type": "boolean"}, "case": {"enum": ["sensitive", "insensitive"]}},
                "additionalProperties": False,
            },
            example="redirects: true", more="See [What the service redirects](../urls.md#what-the-service-redirects).",
        ),
        Key("gone", "URLs that nothing answers at any more, on purpose.", form="list", keys=GONE, role="rule"),
        Key(
            "sites", "Formats of single sites instead, by their keys.", role="rule", more="`{docs: [netlify], blog: []}`; `[]`: no files.",
            names="published",
        ),
    ),
)  # fmt: skip
