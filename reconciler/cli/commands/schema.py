"""`reconciler schema`: print the JSON Schemas of files and documents, or write them where editors find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from reconciler.cli import options as shared
from reconciler.cli.completion import completer
from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.config.keys import project_file
from reconciler.config.schemas.document import catalog_entry, schema
from reconciler.config.source.reader import FILE_MAX
from reconciler.errors import UsageError, os_reason
from reconciler.kinds import load as load_kinds
from reconciler.links import read_file
from reconciler.report.layout import table
from reconciler.report.schemas.documents import FileSchema, documents, schema_of
from reconciler.run.connection.embedded import require_extra
from reconciler.seams import Seam
from reconciler.text.escape import as_json
from reconciler.text.names import did_you_mean
from reconciler.writing import create_folder, write_whole

FILES: Final[Seam[FileSchema]] = Seam("schemas", "files of features that editors check")
SUFFIX: Final = ".schema.json"
CATALOG: Final = "catalog"
SERVICE: Final = "service"
NOT_FOR_EDITORS: Final = {SERVICE: "The service, as the sandbox plays it (OpenAPI)", CATALOG: "An entry of the catalog of SchemaStore"}
FOLDER: Final = ".reconciler"
MODELINE: Final = "# yaml-language-server: $schema="


@completer
def candidates(_: click.Context, __: str) -> Iterator[tuple[str, str]]:
    """The names of the schemas."""
    yield "config", "project files"
    yield from ((row.name, row.says) for row in FILES)
    yield from ((row.name, row.title) for row in documents().values())
    yield from NOT_FOR_EDITORS.items()


def schemas() -> dict[str, Callable[[], dict[str, Any]]]:
    """Every schema by its name: those of files and of documents, the service's OpenAPI document, and the entry of the catalog."""
    return {
        "config": lambda: schema(load_kinds()),
        **{row.name: partial(row.schema, load_kinds()) for row in FILES},
        **{document: partial(schema_of, document) for document in documents()},
        SERVICE: _service,
        CATALOG: catalog_entry,
    }


def file_name(name: str) -> str:
    """The name of the file of a schema."""
    return {SERVICE: f"{SERVICE}.openapi.json", CATALOG: f"{CATALOG}.json"}.get(name, f"{name}{SUFFIX}")


def write_all(folder: Path) -> None:
    """Write every schema into a folder, as the wheel contains them."""
    for name, made in schemas().items():
        write_whole(folder / file_name(name), as_json(made()) + "\n", mode=0o644)


def _service() -> dict[str, Any]:
    require_extra()
    from reconciler.sandbox.app import service_document  # fastapi is an extra

    return service_document()


@click.command("schema", short_help="Print JSON Schemas.")
@click.argument("name", metavar="[NAME]", default="", shell_complete=candidates)
@click.option("--write", is_flag=True, allow_from_autoenv=False, help="Write the schema, or all schemas, into the project for editors.")
@shared.project_path(nearest=False)
@shared.output()
@click.pass_obj
def command(screen: Screen, /, name: str, write: bool, **parameters: Any) -> None:
    """Print the JSON Schema of project files (config), of test files (test), or of a document that --format json prints. Without an
    argument, list the schemas. `service` is the OpenAPI document of the service, `catalog` the entry of the config schema in the catalog of
    SchemaStore.

    --write puts the others into the folder .reconciler of the project. A project file whose first line is
    `# yaml-language-server: $schema=.reconciler/config.schema.json` is then checked while you edit it.

    \b
    Examples:
      reconciler schema plan
      reconciler schema service
      reconciler schema --write
    """
    options = Options.of(screen, parameters)
    known = {listed: made for listed, made in schemas().items() if not write or listed not in NOT_FOR_EDITORS}
    if name and name not in known:
        raise UsageError(
            f"there is no schema {name!r}{did_you_mean(name, known)}", id="RC-unknown-schema", hint="reconciler schema lists them."
        )
    if write:
        project = options.project if options.project != Path() else shared.nearest_project(click.get_current_context())
        _write(screen, project, {listed: known[listed]() for listed in ([name] if name else known)})
    elif not name:
        files = {file: str(known[file]()["title"]) for file in ("config", *(row.name for row in FILES))}
        titles = {**files, **{row.name: row.title for row in documents().values()}}
        screen.out(table([*titles.items(), *NOT_FOR_EDITORS.items()]))
    else:
        screen.document(known[name]())


def _write(screen: Screen, project: Path, known: Mapping[str, Any]) -> None:
    """Write schemas into the project, and print the line by which its files refer to them. Raises `UsageError`."""
    file = project_file(project)
    folder = file.parent / FOLDER
    try:
        begin = read_file(file, FILE_MAX).decode("utf-8", "replace")
        create_folder(folder, mode=0o700)
        for name, document in known.items():
            write_whole(folder / file_name(name), as_json(document) + "\n", mode=0o644)
    except OSError as error:
        reason = os_reason(error)
        raise UsageError(
            f"{error.filename or folder} cannot be used: {reason}", id="RC-file-not-written", hint="Name a project: --project PATH."
        ) from error
    screen.say(f"Wrote {len(known)} schema{'s' if len(known) != 1 else ''} to {folder}.")
    line = f"{MODELINE}{FOLDER}/config{SUFFIX}"
    if "config" in known and MODELINE not in begin:
        screen.say(f"Write this as the first line of {file}, so that editors use it:\n{line}")
