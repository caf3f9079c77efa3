"""A project whose lists are split into files, in every command."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli

PROJECT = """\
version: 1
project: docs
service: {member: ada@acme.example}
defaults: {space: {duplicateOf: blank}}

organizations:
  acme:
    id: org_acme
    content: {include: [content/start.yaml, content/product.yaml]}
    sites: {include: "sites/*.yaml"}
"""
START = """\
# who may edit this: docs
- {space: blank, id: spc_blank, title: Blank}
- {space: guides, title: Guides}
"""
PRODUCT = """\
content:
  - collection: product
    title: Product
    content: {include: content/inner.yaml}
"""
INNER = """\
- {space: api, title: API}  # the API
"""
SITE = """\
docs:
  title: Documentation
  structure: {include: nodes.yaml}
"""
NODES = """\
- {section: guides, title: Guides, path: guides, spaces: [guides]}
- {section: api, title: API, path: api, spaces: [api]}
"""
FILES = {
    "reconciler.yaml": PROJECT,
    "content/start.yaml": START,
    "content/product.yaml": PRODUCT,
    "content/inner.yaml": INNER,
    "sites/docs.yaml": SITE,
    "nodes.yaml": NODES,
}


@pytest.fixture
def split(cli: Cli) -> Cli:
    for name, text in FILES.items():
        (cli.root / name).parent.mkdir(exist_ok=True)
        cli.write(name, text)
    done = cli("apply", "--yes", "--sandbox", "s.db")
    assert done.exit_code == 0, done.stderr
    return cli


def api(split: Cli, *words: str) -> None:
    done = split("api", *words, "--sandbox", "s.db")
    assert done.exit_code == 0, done.stderr


def id_of(split: Cli, address: str) -> str:
    rows = split("state", "list", "--sandbox", "s.db").stdout.splitlines()
    return next(row.split()[2] for row in rows if row.split()[0] == address)


def test_every_command_that_only_reads_knows_the_files(split: Cli) -> None:
    assert split("validate").stdout == "docs is valid: 10 resources in 6 files.\n"
    assert split("fmt", "--check").exit_code == 0
    assert split("plan", "--sandbox", "s.db", "--detailed-exitcode").exit_code == 0
    assert "acme/space/api" in split("graph").stdout or "API" in split("graph").stdout
    rendered = split("config", "render").stdout
    assert [line[2:] for line in rendered.splitlines() if line.startswith("# ") and line.endswith(".yaml")] == list(FILES)


def test_fmt_lays_out_every_file_of_a_split_list(split: Cli) -> None:
    split.write("content/inner.yaml", "-   title: API\n    space: api\n")
    done = split("fmt")
    assert done.stdout == "content/inner.yaml\n"
    assert (split.root / "content/inner.yaml").read_text() == "- space: api\n  title: API\n"


def test_an_accepted_value_and_an_accepted_move_go_to_the_file_that_says_it(split: Cli) -> None:
    api(split, "PATCH", f"/spaces/{id_of(split, 'acme/space/api')}", "-f", "title=The API")
    api(split, "POST", f"/spaces/{id_of(split, 'acme/space/guides')}/move", "-f", f"parent={id_of(split, 'acme/collection/product')}")
    done = split("drift", "--accept", "acme/space/api.title", "--accept", "acme/space/guides", "--sandbox", "s.db")
    assert done.exit_code == 0, done.stderr
    assert (split.root / "content/start.yaml").read_text() == START.replace("- {space: guides, title: Guides}\n", "")
    inner = (split.root / "content/inner.yaml").read_text()
    assert "- {space: api, title: The API}  # the API\n" in inner
    assert "- {space: guides, title: Guides}\n" in inner
    assert split("plan", "--sandbox", "s.db", "--detailed-exitcode").exit_code == 0


def test_import_into_adds_next_to_the_neighbors(split: Cli) -> None:
    api(split, "POST", "/orgs/org_acme/collections", "-f", "title=New")
    before = {name: (split.root / name).read_text() for name in FILES}
    done = split("import", str(split.root), "--into", "--sandbox", "s.db")
    assert done.exit_code == 0, done.stderr
    changed = [name for name in FILES if (split.root / name).read_text() != before[name]]
    assert "content/product.yaml" in changed
    assert "collection: new" in (split.root / "content/product.yaml").read_text()
    assert split("plan", "--sandbox", "s.db", "--detailed-exitcode").exit_code == 0


def test_the_last_node_of_a_file_leaves_an_empty_list(split: Cli) -> None:
    api(split, "POST", f"/spaces/{id_of(split, 'acme/space/api')}/move", "-f", "parent=null")
    done = split("drift", "--accept", "acme/space/api", "--sandbox", "s.db")
    assert done.exit_code == 0, done.stderr
    assert (split.root / "content/inner.yaml").read_text() == "[]\n"
    assert split("plan", "--sandbox", "s.db", "--detailed-exitcode").exit_code == 0
