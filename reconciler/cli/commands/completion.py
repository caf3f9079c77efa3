"""`reconciler completion`: the script with which a shell completes commands, options and addresses."""

from __future__ import annotations

import click

from reconciler.cli.program import COMPLETING
from reconciler.cli.shells import SHELLS, script
from reconciler.cli.terminal.screen import Screen


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def command(screen: Screen, /, shell: str) -> None:
    """Print the script with which a shell completes commands, options, addresses from the state, runs, environments and kinds.

    Addresses and runs are read from a state in a file; nothing is sent.

    \b
    Examples:
      source <(reconciler completion bash)                                     in ~/.bashrc
      source <(reconciler completion zsh)                                      in ~/.zshrc, after compinit
      reconciler completion fish > ~/.config/fish/completions/reconciler.fish
    """
    screen.raw(script(shell, click.get_current_context().find_root().command, COMPLETING))
