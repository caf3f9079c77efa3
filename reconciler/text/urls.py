"""Published URLs as text: what is wrong with a pattern of them, and which of them contain others.

Pure, and light enough for `reconciler --help`.
"""

from __future__ import annotations

from reconciler.text import patterns


def containing(url: str) -> list[str]:
    """The URL and those above it, the shortest first: `https://host`, `https://host/a` and `https://host/a/b`."""
    parts = url.split("/")
    return ["/".join(parts[:end]) for end in range(3, len(parts) + 1)]


def pattern_problem(text: str) -> str | None:
    """What is wrong with a pattern of URLs, as the end of a sentence; None if nothing is."""
    if not text.startswith(("/", "https://", "http://")):
        return "it must begin with / (a path below the site's URL) or https://"
    if "?" in text or "#" in text:
        return "it must not contain a query or a fragment; a redirect is about the path"
    return patterns.pattern_problem(text)
