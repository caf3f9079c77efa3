"""Patterns of published URLs: what is wrong with one. Pure, and light enough for `reconciler --help`."""

from __future__ import annotations

from reconciler.text import patterns


def pattern_problem(text: str) -> str | None:
    """What is wrong with a pattern of URLs, as the end of a sentence; None if nothing is."""
    if not text.startswith(("/", "https://", "http://")):
        return "it must begin with / (a path below the site's URL) or https://"
    if "?" in text or "#" in text:
        return "it must not contain a query or a fragment; a redirect is about the path"
    return patterns.pattern_problem(text)
