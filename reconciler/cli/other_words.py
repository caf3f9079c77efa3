"""Words of other tools, in one table: what a person who knows Terraform, Pulumi, Helm, kubectl or decK types, and what it is called here.

Forbidden: slow imports; it is asked when a command line is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

RECREATE: Final = "An object is recreated only if a change requires it; reconciler apply --allow-replace ADDRESS allows that."
DELETE: Final = "Remove the lines of what should be deleted, then run reconciler apply; docs/how-to/delete-resources.md describes it."
DRIFT: Final = "Every plan reads the service. reconciler drift shows what was changed outside Reconciler, and changes nothing."
VARIABLE: Final = "Set the variable RECONCILER_TOKEN to a token; reconciler doctor checks it."
ENVIRONMENTS: Final = "Environments are files, environments/NAME.yaml; each has a state of its own: reconciler plan --env NAME."
LIST: Final = "reconciler state list lists the tracked objects."
OBJECT: Final = "reconciler state show ADDRESS shows a tracked object; reconciler api GET PATH shows what the service has."
CHECK: Final = "reconciler validate checks a project, and with --lint it looks for mistakes in working projects."
UNDO: Final = "reconciler undo RUN plans and applies the reverse of a run; reconciler history lists the runs."
FORGET: Final = "reconciler state forget ADDRESS stops managing an object, which is not deleted."
RENDER: Final = "reconciler config render shows the files with every expression evaluated."
IMPORT: Final = "reconciler import DIR writes an existing organization as a project; reconciler state pull prints the state."
UNLOCK: Final = "reconciler state unlock shows who holds the state, and takes it from a run that hangs."

COMMANDS: Final[Mapping[str, str]] = {
    "check": CHECK,
    "delete": DELETE,
    "deploy": "reconciler apply applies a project.",
    "describe": OBJECT,
    "destroy": DELETE,
    "down": DELETE,
    "dump": IMPORT,
    "env": ENVIRONMENTS,
    "export": IMPORT,
    "force-unlock": UNLOCK,
    "format": "reconciler fmt formats the files of a project.",
    "get": OBJECT,
    "lint": CHECK,
    "list": LIST,
    "login": VARIABLE,
    "logout": VARIABLE,
    "ls": LIST,
    "mv": "reconciler state mv FROM TO moves what is tracked to another address.",
    "output": OBJECT,
    "preview": "reconciler plan shows what would change.",
    "refresh": DRIFT,
    "remove": DELETE,
    "rename": "Change the key and write previously: [OLD] beside it; docs/how-to/rename-and-move.md describes it.",
    "render": RENDER,
    "revert": UNDO,
    "rm": DELETE,
    "rollback": UNDO,
    "stack": ENVIRONMENTS,
    "status": "reconciler plan shows what would change, and reconciler drift what was changed outside Reconciler.",
    "sync": "reconciler apply applies a project, after the plan that reconciler plan shows.",
    "taint": RECREATE,
    "template": RENDER,
    "unlock": UNLOCK,
    "untaint": RECREATE,
    "up": "reconciler apply applies a project.",
    "workspace": ENVIRONMENTS,
}
"""Commands of other tools."""

OF_GROUPS: Final[Mapping[str, str]] = {
    "state delete": FORGET,
    "state get": OBJECT,
    "state import": "reconciler adopt ADDRESS ID tracks an existing object, and reconciler import DIR a whole organization.",
    "state ls": LIST,
    "state move": "reconciler state mv FROM TO moves what is tracked to another address.",
    "state remove": FORGET,
    "state rm": FORGET,
    "state force-unlock": UNLOCK,
    "sandbox start": "reconciler sandbox serve --db FILE serves a sandbox.",
    "sandbox up": "reconciler sandbox serve --db FILE serves a sandbox.",
}
"""Commands of other tools in a group of this one."""

OPTIONS: Final[Mapping[str, str]] = {
    "auto-approve": "--yes applies without asking; guards still apply.",
    "backend-config": "--state URL names the state.",
    "chdir": "-C DIR before the command runs it in that directory.",
    "destroy": DELETE,
    "dry-run": "reconciler plan shows what would change; it changes nothing.",
    "force": "No option forces a change: each guard prints the option that allows what it refused.",
    "input": "Nothing asks without a terminal; --yes applies without asking.",
    "json": "--format json prints documents.",
    "lock": "Every run that writes holds the lease on the state; --lock-timeout DURATION waits for that of another run.",
    "namespace": ENVIRONMENTS,
    "no-color": "--color never prints without colors, and so does the variable NO_COLOR.",
    "output": "--format chooses the format of the result, and --report FORMAT=FILE writes a report.",
    "parallelism": "--max-concurrency N sends up to N requests at the same time.",
    "refresh": "Every plan reads the service; there is no older copy to plan with.",
    "refresh-only": DRIFT,
    "replace": RECREATE,
    "stack": ENVIRONMENTS,
    "workspace": ENVIRONMENTS,
}
"""Options of other tools, without their dashes."""

ALIASES: Final[Mapping[str, str]] = {"version": "--version", "help": "--help"}
"""First words that are another spelling of an option: `reconciler help plan` is `reconciler plan --help`."""


def spelled_here(argv: Sequence[str]) -> list[str]:
    """A command line whose first word may be an alias, as it is written here."""
    first, *rest = argv or [""]
    return [*rest, ALIASES[first]] if first in ALIASES and not any(word.startswith("-") for word in rest) else list(argv)


def of_command(path: Sequence[str], name: str) -> str | None:
    """What a command of another tool is called here. `path`: the words of the group in which it was looked for."""
    return OF_GROUPS.get(" ".join([*path, name])) or (COMMANDS.get(name) if not path else None)


def of_option(argv: Sequence[str], known: Collection[str]) -> tuple[str, str] | None:
    """The first option of another tool in a command line, as it was typed, and what it is called here. `known`: the long options of the
    command."""
    if (command := next((word for word in argv if not word.startswith("-")), None)) is not None and "-C" in argv[argv.index(command) :]:
        return "-C", f"-C DIR is written before the command: reconciler -C DIR {command}"
    for word in argv:
        typed = word.partition("=")[0]
        name = typed.lstrip("-")
        if word == "--":
            return None
        if not word.startswith("-") or (f"--{name}" in known and word.startswith("--")):
            continue
        if f"--{name}" in known and len(name) > 1:
            return typed, f"Long options have two dashes: --{name}."
        if name in OPTIONS:
            return typed, OPTIONS[name]
    return None
