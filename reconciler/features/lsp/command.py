"""`reconciler lsp`: the language server that editors start."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

import click

from reconciler.cli.help import release_files
from reconciler.cli.terminal.screen import Screen
from reconciler.errors import UsageError
from reconciler.kinds import load
from reconciler.run.loading import now
from reconciler.text.install import installing_extra

NEEDED: Final = ("pygls", "lsprotocol")  # both are of the extra: one that is installed in part is reported too


@click.command("lsp", short_help="Serve editors: problems, completion, definitions, renames.")
@click.option("--stdio", is_flag=True, help="Use stdin and stdout, as always: some editors pass this to every server.")
@click.pass_obj
def command(screen: Screen, /, stdio: bool) -> None:
    """Serve one editor on stdin and stdout with the Language Server Protocol, until the editor ends it. Editors start it themselves.

    It reads the projects of the files that are open, and a state in a local file; what is not saved counts. It sends nothing, decrypts
    nothing, and takes no values from the environment.

    \b
    Example:
      reconciler lsp
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        way = f"Install it: {installing_extra('lsp')}"
        raise UsageError(f"the language server requires {', '.join(missing)}", id="RC-package-missing", hint=way)

    from reconciler.features.lsp.server import serve  # an extra: nothing else needs pygls

    serve(load(), repository=release_files(), now=now, stopping=screen.supervision.signals.stopping)
