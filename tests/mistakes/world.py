"""The organization that people make mistakes in: a project of four files, what its service holds beside it, and the names of both."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reconciler.sandbox.seed import seed
from tests.command_line import Cli

ADA, ADA_READS, BOB = "token-of-ada", "token-of-ada-that-reads", "token-of-bob"

# Beside what the project declares: a team, a space and a second organization that are nobody's business but their owners'.
SEED: dict[str, Any] = {
    "organizations": [{"id": "org_acme", "title": "Acme"}, {"id": "org_beta", "title": "Beta"}],
    "members": [
        {"organization": "org_acme", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_acme", "id": "usr_grace", "email": "grace@acme.example", "displayName": "Grace", "role": "admin"},
        {"organization": "org_acme", "id": "usr_linus", "email": "linus@acme.example", "displayName": "Linus", "role": "edit"},
        {"organization": "org_acme", "id": "usr_guest", "email": "guest@acme.example", "displayName": "Guest", "role": "read"},
        {"organization": "org_beta", "id": "usr_ada", "email": "ada@acme.example", "displayName": "Ada", "role": "admin"},
        {"organization": "org_beta", "id": "usr_bob", "email": "bob@beta.example", "displayName": "Bob", "role": "admin"},
    ],
    "tokens": [
        {"token": ADA, "member": "usr_ada", "access": "write"},
        {"token": ADA_READS, "member": "usr_ada", "access": "read"},
        {"token": BOB, "member": "usr_bob", "access": "write"},
    ],
    "teams": [{"organization": "org_acme", "id": "team_legal", "title": "Legal"}],
    "spaces": [
        {"organization": "org_acme", "id": "spc_blank", "title": "Blank", "parent": None},
        {"organization": "org_acme", "id": "spc_payroll", "title": "Payroll", "parent": None},
        {"organization": "org_beta", "id": "spc_beta", "title": "Plans of Beta", "parent": None},
    ],
}

RECONCILER = """\
version: 1
project: handbook
service:
  sandbox: ../service.db
  member: ada@acme.example
include: [people.yaml, content.yaml, "sites/*.yaml"]
vars:
  brand: {default: Acme}
defaults:
  space: {duplicateOf: blank}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
    emailDomains: [acme.example]
    inviteLinks: false
"""
PEOPLE = """\
members:
  ada@acme.example: admin
  grace@acme.example: admin
  linus@acme.example: {role: edit}

teams:
  writers:
    title: Writers
    members: [linus@acme.example]
  editors:
    title: Editors
  support:
    title: Support
"""
CONTENT = """\
content:
  - {space: blank, id: spc_blank, title: Blank}
  - collection: product
    title: Product
    content:
      - {space: guides, title: Guides}
      - {space: api, title: API}
      - {space: changelog, title: Changelog}
  - collection: internal
    title: Internal
    content:
      - {space: handbook, title: Handbook}
      - {space: salaries, title: Salaries}
"""
DOCS = """\
sites:
  docs:
    title: Documentation
    visibility: public
    published: true
    adaptiveContent: {enabled: true}
    structure:
      - section: guides
        title: Guides
        default: true
        spaces: [guides, changelog]
      - section: reference
        title: Reference
        spaces: [api]
      - section: staff
        title: Staff
        condition: visitor.claims.staff
        spaces: [handbook]
"""
INTRA = """\
sites:
  intra:
    title: Intranet
    visibility: share-link
    published: true
    structure:
      - {space: salaries, default: true}
    shareLinks:
      board: {name: Board, active: true}
      press: {name: Press, active: false}
"""
FILES = {"reconciler.yaml": RECONCILER, "people.yaml": PEOPLE, "content.yaml": CONTENT, "sites/docs.yaml": DOCS, "sites/intra.yaml": INTRA}


def build(root: Path) -> Path:
    """The project in `root`/p, applied once, with its service in `root`/service.db."""
    seed(root / "service.db", {name: part for name, part in SEED.items() if name != "teams"})
    (root / "p").mkdir()
    cli = Cli(root / "p")
    for name, text in FILES.items():
        cli.write(name, text)
    for team in SEED["teams"]:
        cli("api", "PUT", f"/orgs/{team['organization']}/teams", "-f", f"title={team['title']}", code=0)
    cli("apply", "--yes", "--allow-exposure", "**", code=0)
    return root


@dataclass
class Folder(Cli):
    """A copy of that, for one mistake: its files, the command line in it, and what others do to the service meanwhile.

    `open`: what is held until the row ends.
    """

    open: ExitStack = field(default_factory=ExitStack)

    @classmethod
    def copied(cls, living: Path, root: Path) -> Folder:
        shutil.copytree(living, root)
        return cls(root / "p")

    @property
    def service(self) -> Path:
        return self.root.parent / "service.db"

    def swap(self, name: str, first: str, second: str) -> None:
        """Exchange two texts in a file."""
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert first in text
        assert second in text
        path.write_text(second.join(part.replace(second, first) for part in text.split(first)), encoding="utf-8")

    def append(self, name: str, text: str) -> None:
        path = self.root / name
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    def comment(self, name: str, first: str, last: str | None = None) -> None:
        """Comment out the lines from the one that holds `first` to the one that holds `last`, or to the end of the file."""
        lines = (self.root / name).read_text(encoding="utf-8").splitlines(keepends=True)
        start = next(number for number, line in enumerate(lines) if first in line)
        stop = len(lines) - 1 if last is None else next(number for number, line in enumerate(lines) if last in line and number >= start)
        lines[start : stop + 1] = ["#" + line for line in lines[start : stop + 1]]
        (self.root / name).write_text("".join(lines), encoding="utf-8")

    def original(self) -> None:
        """Take every file back to what it was, as `git checkout` does."""
        for name, text in FILES.items():
            self.write(name, text)

    def id(self, address: str) -> str:
        return str(self.json("state", "show", address)["id"])

    def call(self, method: str, path: str, *fields: str) -> str:
        """One request by somebody else; `{address}` in it stands for an id. Answers what came back."""
        argv = [self._filled(word) for word in (path, *fields)]
        result = self("api", method, argv[0], *(part for word in argv[1:] for part in ("-f", word)))
        assert result.exit_code == 0, result.stdout + result.stderr
        return result.stdout

    def _filled(self, text: str) -> str:
        while "{acme" in text:
            address = text[text.index("{acme") + 1 : text.index("}")]
            text = text.replace(f"{{{address}}}", self.id(address))
        return text

    def applied(self, *argv: str) -> None:
        """An apply that is no mistake."""
        result = self("apply", "--yes", "--allow-exposure", "**", *argv)
        assert result.exit_code == 0, result.stdout + result.stderr
