"""Whoever writes the YAML finds out nothing of a secret: what is reported is the same, whatever the value is.

A secret is put into every place of a project, alone, joined and inside expressions that would fail for some values only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from reconciler.config import load
from reconciler.config.project import FileAccess
from reconciler.errors import ConfigError
from tests.hostile.canaries.world import secretive
from tests.proofs import spread
from tests.sops import as_encrypted, printing

ENV: Final = "RECONCILER_VAR_TOKEN"
VALUES: Final = ("gb_api_hunter2hunter2", "x", "docs", "acme", "7", "true", "null", "{", "", "a" * 3_000, "ada@acme.example", "public")
PROJECT: Final[Mapping[str, Any]] = {
    "version": 1,
    "project": "p",
    "service": {"baseUrl": "https://docs.example", "member": "ada@acme.example", "timeout": 30},
    "state": "sqlite:///state.db",
    "recovery": {"settle": 5, "createStrategy": "marker"},
    "vars": {"token": {"env": ENV}, "list": {"default": ["a"]}, "limit": {"default": 4}},
    "include": ["more.yaml"],
    "prune": {"team": "all"},
    "protect": ["space"],
    "guards": {"maxDelete": {"percent": 20, "atLeast": 4}, "minAdmins": 1},
    "defaults": {"space": {"duplicateOf": "blank"}},
    "lint": {"ignore": [{"id": "unused-variable", "reason": "why"}]},
    "policies": [{"id": "a", "on": ["team"], "assert": '${{ after.title != "x" }}', "message": "no"}],
    "removed": [{"address": "acme/space/old", "action": "forget"}],
    "moved": [{"from": "acme/space/older", "to": "acme/space/guides"}],
    "organizations": {
        "acme": {
            "id": "org_acme",
            "title": "Acme",
            "emailDomains": ["acme.example"],
            "defaultRole": "guest",
            "inviteLinks": False,
            "members": {"ada@acme.example": "admin"},
            "teams": {"writers": {"title": "Writers", "members": ["ada@acme.example"]}, "t": {"forEach": ["a"], "title": "Team"}},
            "content": [
                {"space": "blank", "id": "spc_blank", "title": "Blank", "template": True},
                {"space": "guides", "title": "Guides", "protect": False, "adopt": "never"},
            ],
            "saml": {"one": {"label": "One", "entityID": "http://one", "ssoURL": "https://one/sso", "certificate": "c"}},
            "integrations": {
                "charts": {
                    "title": "Charts",
                    "script": "x",
                    "visibility": "private",
                    "scopes": ["space:content:read"],
                    "secrets": {"k": "v"},
                }
            },
            "sites": {
                "docs": {
                    "title": "Docs",
                    "visibility": "public",
                    "structure": [{"section": "guides", "title": "Guides", "spaces": [{"space": "guides", "path": "guides"}]}],
                }
            },
        }
    },
}
ORACLES: Final = (
    "{}", "x{{}}", "{} ~ 'x'", "'x' + {}", "json('{') if {}[3] == 'a' else 'x'", "{} == 'x'", "{} | length", "{}.x", "file({})", "json({})",
    "[1][{} | int]", "'public' if {} else 'private'", "{} | default('x')", "range(0, {} | length)", "{}[0]", "[{}]", "{{'a': {}}}",
)  # fmt: skip
SECRET: Final = "vars.token", "secrets.token"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value and of every key."""
    if path:
        yield path
    for key, part in value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def changed(value: Any, path: tuple[Any, ...], text: str, *, key: bool) -> Any:
    """The project with a text in one place; `key`: in place of the key."""
    if not path:
        return text
    first, *rest = path
    if isinstance(value, list):
        return [changed(part, tuple(rest), text, key=key) if index == first else part for index, part in enumerate(value)]
    if key and not rest:
        return {text if name == first else name: part for name, part in value.items()}
    return {name: changed(part, tuple(rest), text, key=key) if name == first else part for name, part in value.items()}


def reported(root: Path, environ: Mapping[str, str], *, decrypt: bool = True) -> list[str]:
    """What loading the project reports."""
    try:
        load(root, secretive(), environ=environ, access=FileAccess(decrypt=decrypt))
    except ConfigError as error:
        return [f"{problem} {problem.id}" for problem in error.problems]
    return []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "more.yaml").write_text("x-a: 1\n")
    (folder / "secrets.enc.yaml").write_text(as_encrypted({"token": "x"}))
    return folder


def answers(root: Path, project: Any, used: str) -> list[list[str]]:
    """What is reported for each value of the secret."""
    (root / "reconciler.yaml").write_text(json.dumps({**project, "secrets": "secrets.enc.yaml"}), encoding="utf-8")
    found = []
    for value in VALUES:
        bin = root.parent / "bin"
        environ = {ENV: value} if used == "vars.token" else {**printing(bin, {"token": value}), ENV: "public"}
        found.append(reported(root, environ))
    return found


PLACES: Final = [(path, key) for path in places(PROJECT) for key in (False, True) if not key or isinstance(path[-1], str)]


def test_the_project_itself_is_valid(root: Path) -> None:
    assert answers(root, PROJECT, "vars.token") == [[]] * len(VALUES)


@pytest.mark.parametrize("used", SECRET)
@pytest.mark.parametrize(("path", "key"), spread(PLACES, 40), ids=lambda part: str(part)[:60])
def test_what_is_reported_does_not_depend_on_a_secret_in_any_place(root: Path, path: tuple[Any, ...], key: bool, used: str) -> None:
    for expression in ("${{ " + used + " }}", "x${{ " + used + " }}"):
        found = answers(root, changed(PROJECT, path, expression, key=key), used)
        assert [said for said in found if said != found[0]] == []
        assert not any("hunter2" in line for said in found for line in said)


@pytest.mark.parametrize("used", SECRET)
@pytest.mark.parametrize("oracle", ORACLES)
def test_what_is_reported_does_not_depend_on_a_secret_in_any_expression(root: Path, oracle: str, used: str) -> None:
    expression = "${{ " + oracle.replace("{}", used).replace("{{", "{").replace("}}", "}") + " }}"
    certificate = ("organizations", "acme", "saml", "one", "certificate")
    for path in (
        certificate,
        ("organizations", "acme", "title"),
        ("organizations", "acme", "teams", "t", "forEach"),
        ("policies", 0, "assert"),
    ):
        found = answers(root, changed(PROJECT, path, expression, key=False), used)
        assert [said for said in found if said != found[0]] == []
        assert len(found[0]) <= 1


@pytest.mark.parametrize(
    "words",
    [
        {"pattern": "gb.*"}, {"pattern": ".{4}"}, {"enum": ["docs", "acme"]}, {"enum": ["7"], "pattern": "7"}, {"enum": ["x"], "default": "x"},
    ],
)  # fmt: skip
def test_what_is_reported_does_not_depend_on_a_secret_in_a_declaration(root: Path, words: Any) -> None:
    declared = {**PROJECT["vars"], "token": {**words, "env": ENV}}
    found = answers(root, {**PROJECT, "vars": declared}, "vars.token")
    assert found[0]
    assert [said for said in found if said != found[0]] == []


def test_a_type_shows_that_a_value_has_that_form_and_nothing_else(root: Path) -> None:
    for kind in ("boolean", "integer", "number", "list", "map"):
        project = {**PROJECT, "vars": {**PROJECT["vars"], "token": {"type": kind, "env": ENV}}}
        assert len({tuple(lines) for lines in answers(root, project, "vars.token") if lines}) == 1
