"""What `config render` prints is the same project: loaded again, it declares the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from reconciler.config import Project, load
from reconciler.config.canonical import digest
from reconciler.config.keys import TOP
from reconciler.config.rendered import rendered
from reconciler.kinds import load as kinds
from reconciler.yamltext.format import document, layout
from tests.config.random_projects import projects
from tests.effort import within
from tests.proofs import costly

GOOD = Path(__file__).parent / "good"
EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE = document(kinds(), TOP)
HEAD = "version: 1\nproject: test\n"
TEXTS = (
    "null", "Null", "~", "true", "True", "yes", "no", "1.10", "1e3", "0x1F", "010", "12:30", "2026-01-31", " a", "a ", "a: b", "a # b",
    "two\nlines", "ends\n", "- a", "[a]", "{a}", "*a", "&a", "!a", "%a", "@a", "`a`", '"a"', "'a'", "\\", "{% a %}", "{{ a }}",
    "${{ vars.x }}", "$${{ a", "$$${{", "::set-output name=a::b", "##[error]", "tab\there", "\u202eturned", "\x07bell", "\x85next",
    "\ufeffmark", "é", "😀", "👩\u200d👩", ".inf", "<<", "?", "| a", "> a", "(hidden)", "y", "0", "-", ",", "a,b", "x" * 300,
)  # fmt: skip


def again(before: Project, texts: dict[str, str], folder: Path, **options: Any) -> Project:
    """The project of rendered texts, laid out as the command prints them."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(layout(text, SHAPE), encoding="utf-8")
    for name in before.texts:
        if not (folder / name).exists() and (before.settings.root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(before.settings.root / name, folder / name)
    shutil.rmtree(folder / "environments", ignore_errors=True)
    return load(folder / next(iter(texts)), kinds(), **options)


def same(root: Path, folder: Path, **options: Any) -> None:
    before = load(root, kinds(), **options)
    result = again(before, rendered(root, kinds(), **options), folder)  # without a value from outside: everything is in the texts
    assert digest(replace(result.desired, environment=before.desired.environment)) == digest(before.desired)
    policies = [(policy.id, policy.test, policy.message, policy.on, policy.level) for policy in before.desired.policies.rules]
    assert [(policy.id, policy.test, policy.message, policy.on, policy.level) for policy in result.desired.policies.rules] == policies
    assert result.desired.policies.variables == before.desired.policies.variables
    settings_of: Callable[[Project], Any] = lambda project: replace(project.settings, root=Path(), state="", sandbox=None, files=())  # noqa: E731
    assert settings_of(result) == settings_of(before)


@pytest.mark.parametrize("name", sorted(path.name for path in GOOD.iterdir()))
def test_a_good_project_is_the_same_after_it_is_rendered(name: str, tmp_path: Path) -> None:
    same(GOOD / name, tmp_path / "made", variables={"domain": "acme.example", "build": "7"} if name == "tour" else {})


@pytest.mark.parametrize(
    "root", sorted(path.parent for path in EXAMPLES.rglob("reconciler.yaml") if path.parent.name != "secrets"), ids=lambda path: path.name
)
def test_an_example_is_the_same_after_it_is_rendered(root: Path, tmp_path: Path) -> None:
    for environment in sorted(path.stem for path in (root / "environments").glob("*.yaml")) or [None]:
        same(root, tmp_path / "made", environment=environment)


WORDS = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@costly
@settings(max_examples=25)
@given(data=projects(), texts=st.lists(WORDS, min_size=1, max_size=5))
def test_a_random_project_is_the_same_after_it_is_rendered(data: dict[str, Any], texts: list[str]) -> None:
    variables = {f"t{number}": {"default": text.replace("${{", "$${{"), "type": "string"} for number, text in enumerate(texts)}
    teams = {f"x{number}": {"title": f"${{{{ vars.t{number} }}}}"} for number, text in enumerate(texts) if len(text) <= 64 and text.strip()}
    data = {**data, "vars": variables}
    data["organizations"]["acme"]["teams"] |= teams
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "p"
        root.mkdir()
        (root / "reconciler.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        same(root, Path(folder) / "made")


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_a_text_is_the_same_text_in_every_place(text: str, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": text, "enum": [text, "other"]}}}
    value = yaml.safe_dump(schema, default_style='"', default_flow_style=True, width=10_000).strip().replace("${{", "$${{")
    body = f"organizations:\n  acme:\n    id: org_acme\n    sites:\n      docs: {{title: Docs, adaptiveSchema: {value}}}\n"
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "reconciler.yaml").write_text(HEAD + body, encoding="utf-8")
    same(tmp_path / "p", tmp_path / "made")


PATCHED = """\
organizations:
  acme:
    id: org_acme
    members: {ada@acme.example: admin, linus@acme.example: read}
    teams: {writers: {title: Writers}}
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - {forEach: [a, b], space: "s-${{ each.key }}", title: "S ${{ each.key }}", duplicateOf: blank}
    sites:
      docs: {title: Docs, visibility: public, structure: [blank, s-a, {space: s-b, path: other}]}
"""
PATCHES = {
    "a short form": "[{match: acme/member/linus@acme.example, set: {role: edit}}]",
    "a short form, twice": "[{match: acme/member/linus@acme.example, set: {role: edit}}, {match: 'acme/member/*', set: {role: admin}}]",
    "protect of a short form": "[{match: acme/member/linus@acme.example, set: {protect: true}}]",
    "a short form of a list": "[{match: acme/site/docs/site-space/blank, set: {path: start}}]",
    "what forEach makes": "[{match: acme/space/s-a, set: {title: Another}}, {match: acme/space/s-b, set: {emoji: 1f600}}]",
    "all of a map": "[{match: acme/team/writers, remove: true}]",
    "all of a site": "[{match: acme/site/docs, remove: true}]",
    "a part of a list": "[{match: acme/site/docs/site-space/s-a, remove: true}, {match: acme/space/s-a, remove: true}]",
    "what is set first and removed then": "[{match: acme/team/writers, set: {title: W}}, {match: acme/team/writers, remove: true}]",
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_patched_project_is_the_same_after_it_is_rendered(name: str, tmp_path: Path) -> None:
    root = tmp_path / "p"
    (root / "environments").mkdir(parents=True)
    (root / "reconciler.yaml").write_text(HEAD + PATCHED, encoding="utf-8")
    (root / "environments" / "staging.yaml").write_text(f"patch: {PATCHES[name]}\n", encoding="utf-8")
    same(root, tmp_path / "made", environment="staging")


@pytest.mark.parametrize("files", [{"teams.yaml": "writers: {title: Writers}\n"}, {"teams.yaml": "teams:\n  writers: {title: Writers}\n"}])
def test_an_include_that_a_patch_empties_is_an_empty_file(files: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "p"
    (root / "environments").mkdir(parents=True)
    body = "organizations: {acme: {id: org_acme, teams: {include: teams.yaml}}}\n"
    (root / "reconciler.yaml").write_text(HEAD + body, encoding="utf-8")
    (root / "environments" / "staging.yaml").write_text(
        "patch: [{match: acme/team/writers, remove: true}]\nremoved: [{address: acme/team/writers, action: forget}]\n", encoding="utf-8"
    )
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    same(root, tmp_path / "made", environment="staging")


def test_a_split_list_that_is_emptied_and_one_that_generates_nothing_stay_lists(tmp_path: Path) -> None:
    root = tmp_path / "p"
    (root / "environments").mkdir(parents=True)
    body = "organizations: {acme: {id: org_acme, content: {include: [content/*.yaml]}}}\n"
    (root / "content").mkdir()
    (root / "content" / "a.yaml").write_text("- {space: a, title: Aa}\n", encoding="utf-8")
    (root / "content" / "b.yaml").write_text("- {forEach: [], space: 's-${{ each.key }}', title: Bb}\n", encoding="utf-8")
    (root / "reconciler.yaml").write_text(HEAD + body, encoding="utf-8")
    (root / "environments" / "staging.yaml").write_text("patch: [{match: acme/space/a, remove: true}]\n", encoding="utf-8")
    same(root, tmp_path / "made", environment="staging")


def test_no_error_of_a_resource_that_a_patch_removes_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reconciler.config.source.problems.PROBLEMS_MAX", 2)
    (tmp_path / "environments").mkdir()
    spaces = ", ".join(f"{{space: {key}, title: {key}, duplicateOf: nowhere-{key}}}" for key in "abc")
    (tmp_path / "reconciler.yaml").write_text(f"{HEAD}organizations: {{acme: {{id: org_acme, content: [{spaces}]}}}}\n", encoding="utf-8")
    (tmp_path / "environments" / "staging.yaml").write_text("patch: [{match: acme/space/*, remove: true}]\n", encoding="utf-8")
    removed = load(tmp_path, kinds(), environment="staging").desired.excluded
    assert [str(address) for address in removed] == ["acme/space/a", "acme/space/b", "acme/space/c"]


@costly
def test_a_large_project_is_rendered_in_proportion_to_its_size(tmp_path: Path) -> None:
    def text(count: int) -> str:
        elements = ", ".join(f"k{number}" for number in range(count))
        content = "{forEach: '${{ vars.n }}', space: 's-${{ each.key }}', title: 'S ${{ each.key }}', duplicateOf: blank}"
        start = "{space: blank, id: spc_blank, title: Blank}"
        return f"{HEAD}vars: {{n: {{default: [{elements}]}}}}\norganizations: {{acme: {{id: org_acme, content: [{start}, {content}]}}}}\n"

    (tmp_path / "reconciler.yaml").write_text(text(20_000), encoding="utf-8")
    result = within(60, lambda: {name: layout(text, SHAPE) for name, text in rendered(tmp_path, kinds()).items()})
    assert result["reconciler.yaml"].count("- space: s-k") == 20_000
