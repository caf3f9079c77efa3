"""`reconciler explain`: what a kind or a field means."""

from __future__ import annotations

from typing import Any

import click

from reconciler.cli import completion
from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError


@click.command("explain", short_help="Describe a kind or a field.")
@click.argument("word", metavar="[KIND[.FIELD]]", default="", shell_complete=completion.kinds)
@shared.output()
@click.pass_obj
def command(screen: Screen, /, word: str, **words: Any) -> None:
    """Describe a kind or one of its fields: values, limits, what a change does, with an example. Without an argument, list the kinds.
    The keys of the project file (`policies`, `access`, `vars`, …) and `environments` are described too.

    \b
    Examples:
      reconciler explain
      reconciler explain site
      reconciler explain site.visibility
      reconciler explain policies
    """
    from reconciler.config.policies.keys import SECTIONS
    from reconciler.kinds import load as load_kinds
    from reconciler.report import explain, explain_key
    from reconciler.report.explain_policies import explain_section
    from reconciler.text.suggest import did_you_mean

    Options.of(screen, words)
    kinds = load_kinds()
    if not word:
        screen.spans(explain.explain_kinds(kinds, width=screen.width))
        return
    if word in SECTIONS:
        screen.spans(explain_section(word, width=screen.width))
        return
    name, dot, field = word.partition(".")
    kind = kinds.get(name)
    if kind is None and not dot and word in explain_key.keys(kinds):
        screen.spans(explain_key.explain_key(kinds, word, width=screen.width))
        return
    if kind is None:
        raise UsageError(
            f"there is no kind {name!r}{did_you_mean(name, [*kinds, *SECTIONS, *explain_key.keys(kinds)])}",
            hint="reconciler explain lists them.",
        )
    if not dot:
        screen.spans(explain.explain_kind(kinds, kind, width=screen.width))
        return
    known = explain.words(kinds, kind)
    if field not in known:
        raise UsageError(f"{name} has no field {field!r}{did_you_mean(field, known)}", hint=f"reconciler explain {name} lists them.")
    screen.spans(explain.explain_word(kinds, kind, field, width=screen.width))
