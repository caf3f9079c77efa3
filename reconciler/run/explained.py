"""What there is to say about a word: a kind, a field, a key of the project file, the cause of an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.report import explain
from reconciler.report.explain import explain_cause
from reconciler.report.layout import Span
from reconciler.seams import Seam
from reconciler.text.names import did_you_mean
from reconciler.text.pages import PREFIX, pages


class Explained(NamedTuple):
    """Words that a feature explains itself. `page`: of one of them, at a width."""

    words: Collection[str]
    page: Callable[[str, int], list[Span]]


EXPLAINED: Final[Seam[Explained]] = Seam("explained", "words that features explain")


def described(word: str, *, width: int, others: Mapping[str, str] = {}) -> list[Span]:
    """What there is to say about a kind, a field, a key or a cause; the list of kinds for "". `others`: texts about other words.

    Raises `UsageError`.
    """
    if word.upper().startswith("RC-"):
        return _cause(word, width)
    kinds = load_kinds()
    if not word:
        return explain.explain_kinds(kinds, width=width)
    for explained in EXPLAINED:
        if word in explained.words:
            return explained.page(word, width)
    name, dot, field = word.partition(".")
    kind = kinds.get(name)
    if kind is None and not dot and word in explain.keys(kinds):
        return explain.explain_key(kinds, word, width=width)
    if kind is None and word in others:
        return explain.explain_text(word, others[word], width=width)
    if kind is None:
        known = [*kinds, *(word for explained in EXPLAINED for word in explained.words), *explain.keys(kinds), *others]
        wrong = f"there is no kind {name!r}{did_you_mean(name, known)}"
        raise UsageError(wrong, id="RC-unknown-kind", hint="reconciler explain lists them.")
    if not dot:
        return explain.explain_kind(kinds, kind, width=width)
    fields = explain.words(kinds, kind)
    if field not in fields:
        wrong = f"{name} has no field {field!r}{did_you_mean(field, fields)}"
        raise UsageError(wrong, id="RC-unknown-field", hint=f"reconciler explain {name} lists them.")
    return explain.explain_word(kinds, kind, field, width=width)


def _cause(word: str, width: int) -> list[Span]:
    """The page of one cause. Raises `UsageError` if there is none."""
    known = pages()
    id = PREFIX + word[len(PREFIX) :].lower()
    if id not in known:
        raise UsageError(
            f"there is no cause {id!r}{did_you_mean(id, known)}", id="RC-unknown-cause", hint="docs/reference/problems.md lists them."
        )
    return explain_cause(known[id], width=width)
