"""fleet.yaml: what is wrong is said at its place, a secret is never in it, and what is generated is what would have been written."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from reconciler.errors import ConfigError
from reconciler.fleet.changes import Stored, changes
from reconciler.fleet.declared import parsed
from reconciler.fleet.declared.schema import schema
from reconciler.fleet.generated import generated
from reconciler.fleet.model import FleetProject, Mode, SecretReference, as_data, of_data

DEFAULTS = 'defaults: {baseUrl: "https://api.example.com", token: {env: TOKEN}, source: {git: "https://git.example.com/docs.git"}}'


def projects(text: str, listing: Any = None) -> dict[str, FleetProject]:
    return generated(parsed(f"version: 1\n{DEFAULTS}\n{text}".encode(), "fleet.yaml"), listing or {})


WRONG = [
    ("projects: [{name: a b}]", '4:0 name of a project is "a b"; it must be 1 to 100 letters, digits or any of . _ -'),
    ("projects: [{nmae: a}]", '3:13 unknown key "nmae" in a project; did you mean "name"?'),
    ("projects: [{name: a, every: 5}]", 'every of project "a" is "5"; write a time such as 30s, 10m, 2h or 1d'),
    ("projects: [{name: a, every: 1s}]", 'every of project "a" is 1s; it must be from 10s to 30d'),
    ("projects: [{name: a, mode: aply}]", 'mode of project "a" is "aply"; one of watch, plan, apply; did you mean "apply"?'),
    ("projects: [{name: a, token: c4n4ry}]", "must not be in this file; write {env: NAME} or {file: /PATH} to say where it is"),
    ("projects: [{name: a, token: {env: c4n4ry-s3cret}}]", 'token of project "a".env must be the name of an environment variable'),
    ("projects: [{name: a, token: {env: A, file: /b}}]", "has both env and file"),
    ("projects: [{name: a, state: {file: b}}]", 'state of project "a".file must be the absolute path of a file'),
    ("projects: [{name: a, secretVars: {key: c4n4ry}}]", "must not be in this file; write {env: NAME} or {file: /PATH} to say where it is"),
    ("projects: [{name: a, vars: {key: b}, secretVars: {key: {env: A}}}]", 'has the variable key in vars and in secretVars; remove one'),
    ("projects: [{name: a, sops: {LD_PRELOAD: {env: A}}}]", 'contains "LD_PRELOAD", which is not a variable of the sops command'),
    ("projects: [{name: a, source: {git: --upload-pack=x}}]", "must be https://HOST/PATH"),
    ("projects: [{name: a, source: {git: 'ext::sh -c x'}}]", "must be https://HOST/PATH"),
    ("projects: [{name: a, source: {git: 'https://u:c4n4ry@h.example/x'}}]", "contains credentials"),
    ("projects: [{name: a, source: {git: 'http://h.example/x'}}]", "would send the files unencrypted"),
    ("projects: [{name: a, source: {ref: '--exec'}}]", "must be a branch, a tag or a commit"),
    ("projects: [{name: a, source: {path: ../b}}]", "must be a path inside the repository"),
    ("projects: [{name: a, windows: [{from: '25:00'}]}]", 'until of windows[0] of project "a" is missing; write until: 06:00'),
    ("projects: [{name: a, windows: [{from: '22:00', until: '06:00', days: [mondy]}]}]", 'did you mean "monday"?'),
    ("projects: [{name: a, approvals: {delte: two}}]", 'unknown key "delte" in approvals of project "a"; did you mean "delete"?'),
    ("projects: [{name: a}, {name: a}]", 'the project "a" is declared twice; first at fleet.yaml:3:12'),
    ("projects: []\nnotifications: [{url: 'slack://c4n4ry'}]", "notifications[0].url must not be in this file"),
    ("projects: []\nnotifications: [{url: {env: A}, on: [aplied]}]", 'did you mean "applied"?'),
    ("projects: []\nnotifications: {}", "notifications must be a list"),
    ("projects: []\nexpiresSoon: 3w", "write a time such as 30s, 10m, 2h or 1d"),
    ("projects: []\ndashboard: {url: 'http://fleet.example'}", 'dashboard.url is "http://fleet.example"; it must be https://HOST'),
    ("projects: []\ndashboard: {url: 'https://u:c4n4ry@fleet.example'}", "it must be https://HOST"),
    ("projects: []\ndashboard: {oidc: {issuer: 'https://l.example', clientId: a}}", "dashboard.oidc requires dashboard.url"),
    ("projects: []\ndashboard: {url: 'https://f.example', oidc: {issuer: 'https://l.example', clientId: a, clientSecret: c4n4ry}}",
     "dashboard.oidc.clientSecret must not be in this file"),
    ("projects: []\ndashboard: {roles: [{value: a, role: amdin}]}", 'did you mean "admin"?'),
    ("projects: []\ndashboard: {roles: [{value: a, role: admin, tenants: [a b]}]}", 'contains "a b", which is not a tenant'),
    ("projects: []\nwebhooks: {github: {secret: c4n4ry}}", "webhooks.github.secret must not be in this file"),
    ("projects: []\nwebhooks: {github: []}", "webhooks.github must not be empty"),
    ("projects: []\nwebhooks: {github: [x]}", "webhooks.github[0] must be a map"),
    ("projects: []\nwebhooks: {github: [{tenants: [blue]}]}", "webhooks.github[0].secret is missing"),
    ("projects: []\nwebhooks: {github: {secret: {env: A}, tenants: []}}", "webhooks.github.tenants must not be empty"),
    ("projects: []\nwebhooks: {github: {secret: {env: A}, tenants: [a b]}}", "tenants contains \"a b\", which is not a tenant"),
    ("projects: []\nwebhooks: {github: {}}", "webhooks.github.secret is missing"),
    ("projects: [{name: a, approvals: {validFor: 1s}}]", "it must be from 1m to 366d"),
    ("projects: []\npeople: {}", "people must be a list, not a map; write [{addresses: [ada@acme.example]}]"),
    ("projects: []\npeople: [{subject: a}]", "people[0].addresses is missing; write addresses: [ada@acme.example]"),
    ("projects: []\npeople: [{addresses: [ada]}]", 'people[0].addresses contains "ada", which is not an e-mail address'),
    ("projects: []\npeople: [{addresses: [a@b.example]}, {addresses: [A+1@b.example]}]",
     "is an address of people[0] too; each has one person"),
    ("projects: a", 'projects must be a list, not "a"'),
    ("generators: [{list: [a]}]", "generator 1 has no template"),
    ("generators: [{template: {name: a}}]", "a generator must have one of list, directories, organizations, and has none"),
    ('generators: [{list: [a], template: {name: "${{ each.key }}"}}]', "each.key does not exist; one of value"),
    ("generators: [{list: [a, b], template: {name: x}}]", 'every project would have this name; use for example "docs-${{ each.value }}"'),
    ('generators: [{list: [a b], template: {name: "${{ each.value }}"}}]', 'name of a project is "a b"'),
    (
        'generators: [{directories: {path: "*"}, template: {name: "${{ each.name }}", token: {env: "${{ each.name }}"}}}]',
        "token must not use ${{ each.name }}: what others can name must not decide whose token is used",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says"), WRONG)
def test_a_wrong_use_is_reported_at_its_place_and_no_secret_is_repeated(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        projects(text)
    messages = [str(problem) for problem in raised.value.problems]
    place, _, rest = says.partition(" ")
    assert any((rest if place[0].isdigit() else says) in message for message in messages), messages
    assert all(message.startswith("fleet.yaml:") and "c4n4ry" not in message for message in messages)


def test_the_fleets_of_the_docs_are_ones() -> None:
    from tests.docs.test_yaml_blocks import ROOT, blocks

    pages = ("docs/fleet.md", "docs/reference/fleet.md", "docs/run-a-fleet.md")
    found = [text for page in pages for name, text in blocks(ROOT / page) if name == "fleet.yaml"]
    assert len(found) == 7
    made = [
        generated(parsed(text.encode(), "fleet.yaml"), {2: [{"name": "a", "path": "orgs/a"}], 3: [{"id": "o", "title": "O"}]})
        for text in found
    ]
    assert list(made[1]) == ["team-blue", "team-green", "a", "o"]


FULL = """
projects:
- name: a
  source: {ref: v1, path: docs}
  state: {file: /run/state}
  environment: production
  every: 2h
  mode: apply
  revertDrift: true
  hold: true
  rulesFrom: main
  rehearse: required
  windows: [{from: "22:00", until: "06:00", days: [saturday, sunday], zone: Europe/Berlin}]
  approvals: {create: auto, validFor: 2d}
  tenant: blue
  vars: {brand: Acme}
  wave: 1
- {name: b}
generators:
- list: [x, y]
  template: {name: "list-${{ each.value }}"}
- directories: {path: "orgs/*"}
  template: {name: "${{ each.name }}", environment: "${{ each.name }}"}
soak: 10m
"""


def test_what_is_read_is_what_the_editor_allows_what_is_stored_and_what_was_generated() -> None:
    jsonschema.Draft202012Validator(schema()).validate(yaml.safe_load(f"version: 1\n{DEFAULTS}\n{FULL}"))
    made = projects(FULL, {2: [{"name": "q", "path": "orgs/q"}]})
    assert list(made) == ["a", "b", "list-x", "list-y", "q"]
    assert [of_data(as_data(project)) for project in made.values()] == list(made.values())
    assert (made["a"].rules_from, made["b"].rules_from) == ("main", "")
    assert [made[name].rehearse.value for name in "ab"] == ["required", "optional"]
    assert (made["a"].mode, made["a"].every, made["a"].token) == (Mode.APPLY, 7_200, SecretReference("env", "TOKEN"))
    assert (made["q"].source.git, made["q"].source.path) == ("https://git.example.com/docs.git", "orgs/q")
    written = projects('projects: [{name: "list-x"}]')["list-x"]
    assert as_data(made["list-x"]) | {"origin": ""} == as_data(written)


def test_what_vanishes_is_orphaned_and_much_at_once_is_a_mistake() -> None:
    many = {name: [{"name": name, "path": f"orgs/{name}"}] for name in "abcdefghij"}
    generator = 'projects: [{name: own}]\ngenerators: [{directories: {path: "orgs/*"}, template: {name: "${{ each.name }}"}}]'

    def listed(names: str) -> dict[str, FleetProject]:
        return projects(generator, {1: [element for name in names for element in many[name]]})

    stored = {name: Stored(project) for name, project in listed("abcdefghij").items()}
    assert not changes(listed("abcdefghij"), stored).pending
    small = changes(listed("bcdefghij"), stored)
    assert (small.vanishing, small.shrinking) == (("a",), ())
    assert changes(listed("defghij"), stored).shrinking == ("generator 1 (directories) no longer yields 3 of 10 projects",)
    assert changes(listed(""), stored).shrinking == ("generator 1 (directories) yields none of the 10 projects that it had",)
    again = changes(listed("a"), {"a": Stored(stored["a"].project, orphaned=True), "own": stored["own"]})
    assert (again.returning, again.appearing, again.vanishing) == (("a",), (), ())


@pytest.mark.parametrize("generator", ["directories: {path: '*'}", "organizations: {token: {env: A}, baseUrl: https://api.example.com}"])
@pytest.mark.parametrize(
    "used",
    [
        "token: {env: 'EACH'}", "token: {file: '/run/EACH'}", "project: 'EACH'", "state: {env: 'EACH'}", "baseUrl: 'https://EACH.example'",
        "tenant: 'EACH'", "approvals: {create: 'EACH'}", "mode: 'EACH'", "windows: [{from: 'EACH'}]", "revertDrift: 'EACH'", "hold: 'EACH'",
        "rulesFrom: 'EACH'", "rehearse: 'EACH'", "secretVars: {key: {env: 'EACH'}}", "sops: {SOPS_AGE_KEY: {env: 'EACH'}}", "source: {git: 'https://git.example.com/EACH.git'}",
    ],
)  # fmt: skip
def test_a_name_that_others_choose_decides_nothing_about_trust(generator: str, used: str) -> None:
    each = "each.id" if generator.startswith("organizations") else "each.name"
    with pytest.raises(ConfigError) as raised:
        projects(f"generators: [{{{generator}, template: {{name: 'x-EACH', {used}}}}}]".replace("EACH", f"${{{{ {each} }}}}"))
    key = "source" if "git" in used else used.partition(":")[0]
    assert any(f"{key} must not use ${{{{ {each} }}}}" in str(problem) for problem in raised.value.problems), raised.value.problems
