"""A project in which operations are carried out, and what they change in its lines."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reconciler.features.edits.changes import carried_out
from reconciler.features.edits.operations import operations
from reconciler.features.edits.texts import ProjectTexts, project_texts
from tests.harness import kinds

HEAD: Final = """\
version: 1
project: test
service: {member: ada@acme.example}
"""

ACME: Final = HEAD + """\
vars: {brand: {default: Acme}, langs: {default: [fr, de]}, key: {default: x}}
defaults: {space: {duplicateOf: blank}}
x-rules: &rules {reviewers: [ada@acme.example]}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}      # the brand
    members:
      ada@acme.example: admin
      sam@acme.example: read      # until May
    teams: {}
    content:
      # The template.
      - {space: blank, id: spc_blank, title: Blank, template: true}
      - collection: guides
        title: Guides
        content:
          - {space: start, title: "${{ vars.brand }} start"}  # first
          # About the second.
          - {space: second, title: Second, mergeRules: *rules}
      - collection: empty
        title: Empty
        content: []
      - forEach: ${{ vars.langs }}
        space: start-${{ each.value }}
        title: Start ${{ each.value }}
      - space: safe
        title: Safe
        protect: true
        ignoreChanges: [emoji]
    openapi:
      pets:
        source: {url: "https://pets.example/${{ vars.key }}.json"}
        visibility: public
    sites:
      docs:
        title: Docs
        visibility: public

        # What readers see.
        structure:
          - section: start
            title: Start
            spaces: [start]
          - {section: more, title: More, spaces: [second, {key: other, space: safe}]}
        shareLinks:
          partners: Partners      # for partners
      flat: {title: Flat, structure: [{space: second, default: true}], shareLinks: {}}
"""  # fmt: skip


def texts(folder: Path, files: Mapping[str, str | bytes] | str = ACME) -> ProjectTexts:
    """The texts of a project with these files, which are written into a folder."""
    for name, text in ({"reconciler.yaml": files} if isinstance(files, str) else files).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return project_texts(folder, kinds())


def proposed(before: ProjectTexts, *data: Mapping[str, Any]) -> ProjectTexts:
    """The project after operations."""
    return carried_out(before, operations(kinds(), list(data)))


def lines(before: ProjectTexts, after: ProjectTexts) -> str:
    """The lines that differ, with their signs."""
    changed = ""
    for name, text in after.texts.items():
        steps = difflib.ndiff(before.texts[name].splitlines(), text.splitlines())
        changed += "".join(f"{line[0]}{line[2:]}\n" for line in steps if line[0] in "+-")
    return changed
