"""The command line: options, questions, exit codes. Nothing of the engine is imported before a command needs it.

`main` is the program. Each command is a module of `commands`, imported when it is used: it makes an operation of its options, and a
document of what a run returns.
"""

from __future__ import annotations

from reconciler.cli.program import COMMANDS, Program

__all__ = ["main"]

main = Program(
    name="reconciler",
    commands_by_name=COMMANDS,
    help="""Manage documentation organizations as code: members, teams, content and sites in YAML.

    \b
    Try it on the embedded sandbox; nothing leaves this machine:
      reconciler init mydocs --sandbox
      reconciler plan mydocs
      reconciler apply mydocs
    """,
    version=True,
)
