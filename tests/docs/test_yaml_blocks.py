"""Every block of YAML in the docs is what it claims to be: a project, or a part of one, loads.

A part of a project (`teams: …`) is completed by `BASE`. A block that begins with `# NAME` is the file NAME beside the other blocks of
its page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
import yaml

from reconciler.config import load
from reconciler.config.keys import TOP
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from tests.certificates import IDP, pem
from tests.proofs import costly
from tests.sops import as_encrypted

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PROJECT_WORDS: Final = {*TOP, "organizations", "organization", "removed", "moved"}
BASE: Final = """\
version: 1
project: page
vars: {brand: {default: Acme}}
organizations:
  acme:
    id: org_acme
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - {space: guides, title: Guides, duplicateOf: blank}
    sites:
      docs: {title: Documentation, structure: [guides], shareLinks: {partners: {name: Partners}}}
"""
FILES: Final = {".pem": pem(IDP), ".json": '{"type": "object", "properties": {}}', ".yaml": "x-nothing: true", "": "text"}
"""What the files contain that a block names and its page does not show."""

OTHERS: Final = {
    # a block of another program: how it is recognized, and where it is tried
    "GitHub and GitLab: tests/features/forges/pipelines": lambda name, _: name.startswith((".github/", ".gitlab-ci")),
    "hooks: tests/packaging/test_pre_commit.py": lambda name, _: name == ".pre-commit-config.yaml",
    "a seed: tests/sandbox/test_seed.py": lambda name, _: name == "seed.yaml",
    "rules of the sandbox: test_faults.py": lambda name, _: name == "rules.yaml",
    "examples of policy test: tests/features/policies/test_command.py": lambda name, _: name == "policies.test.yaml",
    "tests of a project: tests/features/testing/test_docs.py": lambda _, block: isinstance(block, dict) and set(block) == {"tests"},
    "a fleet: tests/fleet/test_declared.py": lambda name, _: name == "fleet.yaml",
    "a baseline of drift: tests/cli": lambda _, block: isinstance(block, dict) and set(block) == {"known"},
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of YAML of a page: the name that it begins with, or "", and its text."""
    found = re.findall(r"^ *```ya?ml\n(.*?)^ *```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [((re.match(r"# (\S+\.ya?ml)\n", text) or ["", ""])[1], text) for text in found]


def ours(page: Path) -> list[tuple[str, str]]:
    return [(name, text) for name, text in blocks(page) if not any(known(name, loaded(text)) for known in OTHERS.values())]


def cases() -> Iterator[Any]:
    """Each block that is a project or a part of one: its page and its number there."""
    for page in PAGES:
        for number, (name, _) in enumerate(ours(page)):
            yield pytest.param(page, number, id=f"{page.relative_to(ROOT)} {name or number}")


class Words(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML as projects have it: `on` is a word."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def loaded(text: str) -> Any:
    return yaml.load(text, Words)


def completed(part: dict[str, Any]) -> dict[str, Any]:
    """A project that contains a part."""
    whole: dict[str, Any] = loaded(BASE)
    sections = {word: value for word, value in part.items() if word not in PROJECT_WORDS and not word.startswith("x-")}
    part.pop("organization", None)
    if "organizations" in part or "content" in sections:
        del whole["organizations"]["acme"]["content"], whole["organizations"]["acme"]["sites"]
    whole["organizations"]["acme"] |= sections
    return whole | {word: value for word, value in part.items() if word not in sections}


def includes(value: Any) -> Iterator[str]:
    """The names and patterns that a block includes, at any depth."""
    match value:
        case dict():
            for word, inner in value.items():
                if word == "include":
                    yield from [inner] if isinstance(inner, str) else inner
                else:
                    yield from includes(inner)
        case list():
            for inner in value:
                yield from includes(inner)


def section_of(pattern: str, value: Any) -> str | None:
    """The section whose value a pattern includes; None where it is at the top."""
    match value:
        case dict():
            for word, inner in value.items():
                if isinstance(inner, dict) and pattern in list(includes({"include": inner.get("include", [])})):
                    return str(word)
                if (section := section_of(pattern, inner)) is not None:
                    return section
        case list():
            return next((section for inner in value if (section := section_of(pattern, inner)) is not None), None)
    return None


def write_missing(folder: Path, text: str, named: dict[str, str]) -> None:
    """Write the files that a block names and that its page does not show."""
    for path in re.findall(r'file\("([^"]+)"\)', text):
        write(folder / path, FILES.get(Path(path).suffix, FILES[""]))
    value = loaded(text)
    for path in [value["secrets"]] if isinstance(value, dict) and isinstance(value.get("secrets"), str) else []:
        write(folder / path, as_encrypted(dict.fromkeys(re.findall(r"secrets\.(\w+)", text), "x")))
    for pattern in includes(value):
        if not any(fnmatch(name, pattern) for name in named):
            section = section_of(pattern, value)
            empty = {"content": "content: []", None: FILES[".yaml"]}.get(section, f"{section}: {{}}")
            write(folder / pattern.replace("*", "more"), empty)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@costly
@pytest.mark.parametrize(("page", "number"), list(cases()))
def test_a_block_of_yaml_is_a_project_or_a_part_of_one(page: Path, number: int, tmp_path: Path) -> None:
    name, text = ours(page)[number]
    named = {other: content for other, content in ours(page) if other and not other.startswith("environments/")}
    environment = Path(name).stem if name.startswith("environments/") else None
    project = loaded(BASE) if environment else completed(loaded(text))
    for other, content in {**named, name or "x.yaml": text}.items():
        write(tmp_path / other, content)
        write_missing(tmp_path, content, named)
    write(tmp_path / "reconciler.yaml", yaml.safe_dump(project, sort_keys=False, allow_unicode=True))
    variables = project.get("vars", {})
    given = {name: "value" for name, value in variables.items() if not {"default", "env"} & set(value)}
    environ = {value["env"]: "value" for value in variables.values() if "env" in value}
    load(tmp_path, kinds(), environment=environment, variables=given, environ=environ)


def test_blocks_are_found_and_a_wrong_one_would_be_too(tmp_path: Path) -> None:
    assert len(list(cases())) > 10
    write(tmp_path / "reconciler.yaml", yaml.safe_dump(completed({"teams": {"writers": {"titel": "Writers"}}})))
    with pytest.raises(ConfigError, match="unknown field"):
        load(tmp_path, kinds())
