"""A small project to test, and what `reconciler test` says of tests of it."""

from __future__ import annotations

import json
from typing import Any

from tests.command_line import Cli

PROJECT = """\
version: 1
project: small
service: {member: ada@acme.example}
vars:
  brand: {default: Acme}
  build: {env: RECONCILER_VAR_BUILD}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - {space: guides, title: "${{ vars.brand }} guides", duplicateOf: blank, defaultLevel: guest}
      - {space: manual, title: Manual, duplicateOf: blank}
      - {space: built, title: "Build ${{ vars.build }}", duplicateOf: blank}
      - collection: people
        title: People
        defaultLevel: inherit
        content: [{space: salaries, title: Salaries, duplicateOf: blank, defaultLevel: inherit}]
    sites:
      docs:
        title: Documentation
        visibility: public
        basename: docs
        published: true
        adaptiveContent: {enabled: true}
        structure:
          - {section: start, title: Start, path: start, default: true, spaces: [guides]}
          - {section: pro, title: Pro, path: pro, condition: "visitor.claims.pro", spaces: [manual]}
        shareLinks: {partners: Partners}
"""
UNKNOWN = ("  build: {env: RECONCILER_VAR_BUILD}\n", '      - {space: built, title: "Build ${{ vars.build }}", duplicateOf: blank}\n')


def small(cli: Cli, *, project: str = PROJECT, unknown: bool = False) -> Cli:
    """The project in the folder of `cli`. `unknown`: a title depends on the environment, which tests do not know."""
    for line in UNKNOWN if not unknown else ():
        project = project.replace(line, "")
    cli.write("reconciler.yaml", project)
    return cli


def outcome(cli: Cli, text: str, *words: str, code: int | None = None) -> Any:
    """The document about the tests in a text."""
    cli.write("tests/it.yaml", text)
    result = cli("test", ".", "--parallel", "1", "--format", "json", *words, code=code)
    return json.loads(result.stdout)


def mismatches(document: Any) -> list[tuple[int, str, str | None, str | None]]:
    """Line, message, expected and actual of everything that is not as expected."""
    return [
        (item["source"]["line"], item["message"], item["expected"], item["actual"])
        for test in document["tests"]
        for item in test["mismatches"]
    ]
