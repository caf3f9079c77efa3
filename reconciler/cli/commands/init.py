"""`reconciler init`: create a small project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from reconciler.cli import options as shared
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config.schemas.document import dumped
from reconciler.errors import UsageError, os_reason
from reconciler.kinds import load as load_kinds
from reconciler.links import written_place
from reconciler.run.connection.embedded import require_extra
from reconciler.writing import create_folder, write_whole

SANDBOX = """\
  sandbox: .reconciler/sandbox.db       # the embedded sandbox; for the real service write baseUrl: https://…
"""

SERVICE = """\
  baseUrl: https://api.example.com      # the URL of the service; the token comes from RECONCILER_TOKEN, never from a file
  # sandbox: .reconciler/sandbox.db     # instead of baseUrl: the embedded sandbox, to try things out
"""

PROJECT = """\
# yaml-language-server: $schema=.reconciler/config.schema.json
version: 1
project: {name}

service:
{service}  member: ada@acme.example              # owns the token; needs access to every space

organizations:
  acme:
    id: org_acme                        # organizations are adopted by id, never created or deleted
    members:
      ada@acme.example: admin
    teams:
      writers: {{title: Writers, members: [ada@acme.example]}}
    content:                            # the order here is the order in the sidebar
      - {{space: blank, id: spc_blank, title: Blank, template: true}}       # exists already; new spaces are copies of it
      - collection: product
        title: Product
        content:
          - {{space: guides, title: Guides, duplicateOf: blank}}
          - {{space: api, title: API reference, duplicateOf: blank}}
    sites:
      docs:
        title: Documentation
        structure:
          - {{section: guides, title: Guides, spaces: [guides]}}
          - {{section: api, title: API, spaces: [api]}}
"""

IGNORED = "/.reconciler/*\n!/.reconciler/*.schema.json\n"
"""What git does not keep is the state. Editors need the schemas after a clone too."""


@click.command("init", short_help="Create a small project.")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), metavar="[DIR]", default=Path())
@click.option("--sandbox", is_flag=True, allow_from_autoenv=False, help="Create a project that is ready to run on the embedded sandbox.")
@shared.output()
@click.pass_obj
def command(screen: Screen, /, directory: Path, sandbox: bool, **parameters: Any) -> None:
    """Create a small project in a directory, with a JSON Schema for editors. Existing files are not changed.

    \b
    Example:
      reconciler init mydocs --sandbox
    """
    Options.of(screen, parameters)
    if sandbox:
        require_extra()
    file = directory / "reconciler.yaml"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", written_place(directory).name).strip("-.")[:100] or "docs"
    files = {
        file: PROJECT.format(name=name, service=SANDBOX if sandbox else SERVICE),
        directory / ".gitignore": IGNORED,
        directory / ".reconciler" / "config.schema.json": dumped(load_kinds()),
    }
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} already exists", id="RC-project-exists", hint="Name another directory: reconciler init DIR")
    try:
        create_folder(directory)
        create_folder(directory / ".reconciler", mode=0o700)
        for path, text in files.items():
            if not path.exists():
                write_whole(path, text, mode=None)
    except OSError as error:
        wrong = f"the project cannot be written: {os_reason(error)}: {error.filename}"
        raise UsageError(wrong, id="RC-file-not-written", hint="Use a directory that can be written: reconciler init DIR.") from error
    where = "" if directory == Path() else f" {directory}"
    screen.say(f"Wrote {file}.")
    screen.say(f"Next: reconciler plan{where}" if sandbox else f"Edit it, then: reconciler validate{where}")
