"""`reconciler explain`: describe a kind, a field or the cause of an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.completion import completer
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config.policies.keys import SECTIONS
from reconciler.errors import UsageError
from reconciler.kinds import load as load_kinds
from reconciler.report import explain
from reconciler.report.explain import explain_cause, explain_policies
from reconciler.text.names import did_you_mean
from reconciler.text.pages import PREFIX, pages


@completer
def candidates(_: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The kinds; after a point, the fields of a kind."""
    kinds = load_kinds()
    name, point, _field = incomplete.partition(".")
    if point and name in kinds:
        for field, declared in kinds[name].fields.items():
            yield f"{name}.{field}", declared.doc
    for kind in kinds.values():
        yield kind.name, kind.doc.partition("\n")[0]


@click.command("explain", short_help="Describe a kind, a field or the cause of an error.")
@click.argument("word", metavar="[KIND[.FIELD] | CAUSE]", default="", shell_complete=candidates)
@shared.output()
@click.pass_obj
def command(screen: Screen, /, word: str, **parameters: Any) -> None:
    """Describe a kind or one of its fields: values, limits, what a change does, with an example. Without an argument, list the kinds.
    The keys of the project file (`policies`, `access`, `vars`, …) and `environments` are described too.

    Errors end with the id of their cause, such as [RC-locked]. With such an id: why it happens, and what to do.

    \b
    Examples:
      reconciler explain
      reconciler explain site
      reconciler explain site.visibility
      reconciler explain policies
      reconciler explain RC-locked
    """
    if word.upper().startswith("RC-"):
        _cause(screen, word)
        return

    Options.of(screen, parameters)
    kinds = load_kinds()
    if not word:
        screen.spans(explain.explain_kinds(kinds, width=screen.width))
        return
    if word in SECTIONS:
        screen.spans(explain_policies(word, width=screen.width))
        return
    name, dot, field = word.partition(".")
    kind = kinds.get(name)
    if kind is None and not dot and word in explain.keys(kinds):
        screen.spans(explain.explain_key(kinds, word, width=screen.width))
        return
    if kind is None:
        wrong = f"there is no kind {name!r}{did_you_mean(name, [*kinds, *SECTIONS, *explain.keys(kinds)])}"
        raise UsageError(wrong, id="RC-unknown-kind", hint="reconciler explain lists them.")
    if not dot:
        screen.spans(explain.explain_kind(kinds, kind, width=screen.width))
        return
    known = explain.words(kinds, kind)
    if field not in known:
        wrong = f"{name} has no field {field!r}{did_you_mean(field, known)}"
        raise UsageError(wrong, id="RC-unknown-field", hint=f"reconciler explain {name} lists them.")
    screen.spans(explain.explain_word(kinds, kind, field, width=screen.width))


def _cause(screen: Screen, word: str) -> None:
    """The page of one cause. Raises `UsageError` if there is none."""
    known = pages()
    id = PREFIX + word[len(PREFIX) :].lower()
    if id not in known:
        raise UsageError(
            f"there is no cause {id!r}{did_you_mean(id, known)}", id="RC-unknown-cause", hint="docs/reference/problems.md lists them."
        )
    screen.spans(explain_cause(known[id], width=screen.width))
