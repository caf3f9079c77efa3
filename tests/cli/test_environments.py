"""One project in several environments: each has its values, its service and its state.

`import --into` and `drift --accept` in an environment: what its patches remove or set never gets into the files of all.
`--var-file`: variables from files and from the output of a command."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from reconciler.config.environments.difference import _line
from reconciler.resource import UNSET
from tests.command_line import Cli
from tests.documents import valid
from tests.proofs import costly

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@acme.example")
PROJECT = """\
version: 1
project: docs
service: {sandbox: production.db, member: ada@acme.example}
vars:
  brand: {default: Acme, env: RECONCILER_VAR_BRAND}

organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
    content:
      - {space: blank, id: spc_blank, title: Blank}
    sites:
      docs: {title: Documentation, visibility: public, structure: [blank]}
      labs: {title: Labs}
"""
STAGING = """\
vars: {brand: Staging}
service: {sandbox: staging.db}
organizations: {acme: {id: org_staging}}
patch:
  - {match: acme/site/*, set: {visibility: unlisted}}
  - {match: acme/site/labs, remove: true}
"""


@pytest.fixture
def project(cli: Cli) -> Cli:
    cli.write("reconciler.yaml", PROJECT)
    cli.write("environments/staging.yaml", STAGING)
    cli.write("environments/production.yaml", "vars: {}\n")
    return cli


@pytest.mark.parametrize(
    "words",
    [("validate",), ("plan",), ("apply", "--yes"), ("drift",), ("state", "list"), ("history",), ("graph",), ("config", "render")],
    ids=" ".join,
)
def test_every_command_that_reads_the_project_requires_the_environment(project: Cli, words: tuple[str, ...]) -> None:
    done = project(*words, code=3)
    assert "this project has environments; pass --env production or --env staging" in done.stderr
    done = project(*words, "--env", "stagin", code=3)
    assert 'environment "stagin" does not exist; did you mean "staging"? (this project has production, staging)' in done.stderr


def test_each_environment_has_a_service_and_a_state_of_its_own(project: Cli) -> None:
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    staging = project("state", "list", "--env", "staging").stdout
    assert "org_staging" in staging
    assert "acme/site/labs" not in staging
    assert project("plan", "--env", "staging", "--detailed-exitcode").exit_code == 0
    production = project.json("plan", "--env", "production")
    assert production["environment"] == "production"
    assert {change["address"] for change in production["changes"]} >= {"acme", "acme/site/docs", "acme/site/labs"}
    assert (project.root / "staging.db").is_file()


def test_a_value_of_the_command_line_or_of_the_environment_wins_over_the_environments_file(project: Cli) -> None:
    def title(*words: str, **env: str) -> str:
        rendered = project("config", "render", "--env", "staging", *words, env=env).stdout
        return next(line.strip() for line in rendered.splitlines() if "# vars.brand" in line)

    assert title() == '# vars.brand = "Staging", from environments/staging.yaml:1'
    assert title("--var", "brand=Mine") == '# vars.brand = "Mine", from --var'
    assert title("--public-var", "brand", RECONCILER_VAR_BRAND="Theirs") == '# vars.brand = "Theirs", from RECONCILER_VAR_BRAND'


def test_the_effective_configuration_says_where_each_value_comes_from(project: Cli) -> None:
    lines = [line.strip() for line in project("config", "render", "--env", "staging").stdout.splitlines()]
    assert "sandbox: staging.db  # from environments/staging.yaml:2" in lines
    assert "id: org_staging  # from environments/staging.yaml:3" in lines
    assert "visibility: unlisted  # from environments/staging.yaml:5" in lines
    assert not any(line.startswith("labs") for line in lines)


def test_two_environments_are_compared(project: Cli) -> None:
    done = project("config", "diff", "staging", "production", code=0)
    assert done.stdout == (
        "service.sandbox: staging.db -> production.db\n"
        "acme.id: org_staging -> org_acme\n"
        "acme.title: Staging -> Acme\n"
        "acme/site/docs.visibility: unlisted -> public\n"
        "acme/site/labs: only in production\n"
    )
    assert done.stderr == "5 differences between staging and production.\n"
    assert project("config", "diff", "staging", "staging").stdout == ""
    where = str(project.root)
    for words in ([where], ["--project", where]):
        assert project("config", "diff", "staging", "production", *words).stdout == done.stdout
    for words, says in (
        (["staging", where], f"{where} is a project, not an environment"),
        (["staging", "production", where, "--project", "x"], "the project is given twice"),
    ):
        wrong = project("config", "diff", *words)
        assert (wrong.exit_code, says in wrong.stderr) == (3, True), wrong.stderr


def test_a_saved_plan_is_for_one_environment(project: Cli) -> None:
    assert project("plan", "--env", "staging", "--out", "plan.json").exit_code == 0
    other = project("apply", "--env", "production", "--plan", "plan.json")
    assert other.exit_code in (3, 6)
    assert "staging" in other.stderr
    assert project("apply", "--env", "staging", "--plan", "plan.json").exit_code == 0


def test_a_value_that_an_environment_sets_is_not_accepted_into_the_file_of_all(project: Cli) -> None:
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    site = next(
        row.split()[2] for row in project("state", "list", "--env", "staging").stdout.splitlines() if row.startswith("acme/site/docs ")
    )
    path = f"/orgs/org_staging/sites/{site}"
    assert project("api", "PATCH", path, "-f", "visibility=share-link", "--sandbox", "staging.db", "--env", "staging").exit_code == 0
    done = project("drift", "--env", "staging", "--accept", "acme/site/docs.visibility", code=4)
    assert "acme/site/docs.visibility is set by a patch of the environment" in done.stderr
    assert "Change the patch: environments/staging.yaml:5:44." in done.stderr
    assert (project.root / "reconciler.yaml").read_text() == PROJECT


def test_fmt_lays_out_the_files_of_environments(project: Cli) -> None:
    project.write("environments/staging.yaml", STAGING.replace("vars: {brand: Staging}", "vars:   {brand:  Staging}"))
    assert project("fmt", "--check").exit_code == 1
    assert "environments/staging.yaml" in project("fmt").stdout.splitlines()


def test_an_include_never_takes_the_file_of_an_environment(project: Cli) -> None:
    project.write("more/team.yaml", "teams: {writers: {title: Writers}}\n")
    project.edit("reconciler.yaml", "project: docs\n", 'project: docs\ninclude: ["**/*.yaml"]\n')
    assert project("validate", "--env", "production").stdout == "docs is valid: 6 resources in 3 files.\n"


def test_a_url_that_only_an_environment_names_gets_no_token_before_it_is_confirmed(project: Cli) -> None:
    project.edit("environments/staging.yaml", "{sandbox: staging.db}", '{baseUrl: "https://evil.example.com"}')
    done = project("plan", "--env", "staging", env={"RECONCILER_TOKEN": "t0ken-t0ken"}, code=3)
    assert "is only named in the YAML, and you have not confirmed it" in done.stderr


def test_an_expression_of_an_environment_is_evaluated_where_the_project_file_has_none(project: Cli) -> None:
    project.edit("reconciler.yaml", "    title: ${{ vars.brand }}\n", "")
    project.edit("environments/staging.yaml", "{sandbox: staging.db}", "{sandbox: '${{ env.name }}-box.db'}")
    assert "sandbox: staging-box.db" in project("config", "render", "--env", "staging").stdout


def test_a_plan_of_another_environment_is_refused_before_a_sandbox_is_created(project: Cli) -> None:
    assert project("plan", "--env", "staging", "--out", "plan.json").exit_code == 0
    done = project("apply", "--plan", "plan.json", "--env", "production")
    assert (done.exit_code, (project.root / "production.db").exists()) == (6, False)
    assert "plan.json was created for the environment 'staging', and this is 'production'" in done.stderr


def test_the_history_names_the_environment(project: Cli) -> None:
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    assert valid(project.json("history", "--env", "staging"), "history")["environment"] == "staging"
    assert valid(project.json("show", "last", "--env", "staging"), "run")["environment"] == "staging"
    for words in (("plan",), ("drift",), ("apply", "--yes"), ("history",), ("show", "last")):
        assert project(*words, "--env", "staging").stdout.startswith("Environment: staging\n\n")
    for format, header in {"markdown": "### Plan for docs (staging)\n", "html": "<h1>Plan for docs (staging)</h1>"}.items():
        assert header in project("plan", "--env", "staging", "--format", format).stdout


NAMED = """\
policies: [{id: active, on: ["acme/site/*/share-link/*"], assert: "${{ after.active is not false }}", message: M}]
use: [links-expire]
exceptions: [{policy: links-expire, address: acme/site/labs/share-link/partners, until: 2099-01-31, reason: R}]
access:
  - {as: {link: partners}, sees: [acme/site/labs]}
  - {as: {claims: {pro: true}}, mustNotSee: [acme/site/labs]}
  - {as: agent, sees: "${{ ['acme/site/docs'] if env.name == 'nowhere' else [] }}", mustNotSee: [acme/site/docs]}
lint: {ignore: [{id: vague-name, address: acme/site/labs/share-link/partners}]}
defaults: {share-link: {active: true}, site: {visibility: public}}
"""
LABS = """\
labs:
        title: Labs
        structure: [blank]
        adaptiveSchema: {type: object, properties: {pro: {type: boolean}}}
        shareLinks: {partners: Link}
"""


def test_a_name_that_only_this_environment_removes_is_not_an_error(project: Cli) -> None:
    project.edit("reconciler.yaml", "vars:\n  brand", f"{NAMED}vars:\n  brand")
    project.edit("reconciler.yaml", "labs: {title: Labs}\n", LABS)
    project.edit("reconciler.yaml", ", visibility: public, structure", ", structure")
    for name in ("production", "staging"):
        done = project("validate", "--env", name, "--lint")
        assert (done.exit_code, "No findings." in done.stdout) == (0, True), done.stdout + done.stderr
    level = "{policy: links-expire, level: \"${{ 'warning' if env.name == 'staging' else 'error' }}\"}"
    project.edit("reconciler.yaml", "use: [links-expire]", f"use: [{level}]")
    project.edit("reconciler.yaml", "['acme/site/docs'] if env.name == 'nowhere'", "['acme/site/labs'] if env.name == 'production'")
    different = project("config", "diff", "staging", "production").stdout.splitlines()
    assert {"policy links-expire: warning -> error", "access agent sees acme/site/labs: only in production"} <= {*different}


def test_what_an_environment_stops_declaring_is_deleted_as_its_plan_says(project: Cli) -> None:
    staging = STAGING.replace("  - {match: acme/site/labs, remove: true}\n", "")
    project.write("environments/staging.yaml", staging)
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    project.write("environments/staging.yaml", STAGING)
    plan = project("plan", "--env", "staging").stdout
    assert "to delete it, add to removed in environments/staging.yaml: {address: acme/site/labs, action: delete}" in plan
    project.write("environments/staging.yaml", f"{STAGING}removed: [{{address: acme/site/labs, action: delete}}]\n")
    assert project("apply", "--yes", "--env", "staging").stdout.endswith("The plan is now empty.\n")
    assert "acme/site/labs" not in project("state", "list", "--env", "staging").stdout
    assert project("validate", "--env", "production").exit_code == 0


NO_ENVIRONMENTS = [
    ("validate",),
    ("plan",),
    ("apply", "--yes"),
    ("drift",),
    ("state", "list"),
    ("history",),
    ("diff",),
    ("config", "render"),
]


@pytest.mark.parametrize("words", NO_ENVIRONMENTS, ids=" ".join)
def test_an_environment_of_a_project_without_any_is_refused_and_starts_no_second_state(project: Cli, words: tuple[str, ...]) -> None:
    shutil.rmtree(project.root / "environments")
    subprocess.run(["git", "init", "-q", "."], cwd=project.root, check=True)
    subprocess.run([*GIT, "add", "."], cwd=project.root, check=True)
    subprocess.run([*GIT, "commit", "-qm", "one"], cwd=project.root, check=True)
    for name, way in (("stagin", "write environments/stagin.yaml"), ("Staging!", "environments/NAME.yaml, chosen with --env NAME")):
        done = project(*words, "--env", name, code=3)
        assert f'this project has no environments, so "{name}" is not one of them; leave --env out, or ' in done.stderr
        assert way in done.stderr
    assert not (project.root / ".reconciler").exists()
    assert not (project.root / "production.db").exists()


def test_an_empty_name_means_no_environment(project: Cli) -> None:
    assert "this project has environments; pass --env production or --env staging" in project("validate", "--env", "").stderr
    shutil.rmtree(project.root / "environments")
    assert project("validate", "--env", "").exit_code == 0


def test_a_project_that_was_applied_with_an_environment_without_a_file_keeps_its_state_with_an_empty_one(project: Cli) -> None:
    assert project("apply", "--yes", "--env", "production").exit_code == 0
    project.write("environments/production.yaml", "{}\n")
    assert project("plan", "--env", "production", "--detailed-exitcode").exit_code == 0


@costly
@pytest.mark.parametrize(("old", "new"), [("staging", "preview"), ("staging", ""), ("", "preview")])
def test_a_renamed_environment_keeps_its_state_and_its_history(project: Cli, old: str, new: str) -> None:
    (project.root / "environments/production.yaml").unlink()
    name(project, "staging", old)
    assert project("apply", "--yes", "--env", old).exit_code == 0
    runs = project.json("history", "--env", old)["runs"]
    name(project, old, new)
    to = f" --env {new}" if new else ""
    warned = project("state", "list", "--env", new)
    assert f"If the environment was renamed: reconciler state mv --from-env {old or repr('')}{to}. " in warned.stderr
    moved = project("state", "mv", "--from-env", old, "--env", new, code=0)
    assert moved.stdout.startswith(f"What docs{f' in {old}' if old else ''} tracked is now tracked by ")
    assert project("plan", "--env", new, "--detailed-exitcode").exit_code == 0
    assert [run["id"] for run in project.json("history", "--env", new)["runs"]][1:] == [run["id"] for run in runs]
    assert "this state tracks nothing of a project called docs" in project("state", "mv", "--from-env", old, "--env", new, code=3).stderr
    name(project, new, old)
    assert project("state", "mv", "--from-env", new, "--env", old).exit_code == 0  # and back
    assert project("plan", "--env", old, "--detailed-exitcode").exit_code == 0


def test_the_state_of_an_environment_that_still_exists_is_not_moved(project: Cli) -> None:
    project.edit("environments/staging.yaml", "sandbox: staging.db", "sandbox: production.db")
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    done = project("state", "mv", "--from-env", "staging", "--env", "production")
    assert (done.exit_code, "the environment staging still exists" in done.stderr) == (3, True)
    assert "Rename environments/staging.yaml to environments/production.yaml first" in done.stderr
    assert "If the environment was renamed" not in project("state", "list", "--env", "production").stderr
    same = project("state", "mv", "--from-env", "staging", "--env", "staging")
    assert (same.exit_code, "the environment is already called staging" in same.stderr) == (3, True)


def name(project: Cli, old: str, new: str) -> None:
    """Rename an environment; "" for a project without environments, which has the values of that environment."""
    folder = project.root / "environments"
    (folder / f"{old}.yaml").unlink(missing_ok=True)
    if not new:
        shutil.rmtree(folder)
        project.write("reconciler.yaml", PROJECT)
    else:
        project.write(f"environments/{new}.yaml", "{}\n")


def test_a_move_to_what_an_environment_removes_has_no_effect_there(project: Cli) -> None:
    project.edit("reconciler.yaml", "labs: {title: Labs}", "labs: {title: Labs}\n      more: {title: More}")
    assert project("apply", "--yes", "--env", "production").exit_code == 0
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    project.edit("reconciler.yaml", "more: {title: More}", "extra: {title: More}")
    chain = "moved: [{from: acme/site/more, to: acme/site/further}, {from: acme/site/further, to: acme/site/extra}]\n"
    project.edit("reconciler.yaml", "vars:\n  brand", f"{chain}vars:\n  brand")
    for name in ("staging", "production"):
        assert "to create" not in project("plan", "--env", name).stdout
    assert project("apply", "--yes", "--env", "production").exit_code == 0
    project.edit("environments/staging.yaml", "patch:\n", "patch:\n  - {match: acme/site/extra, remove: true}\n")
    plan = project("plan", "--env", "staging")
    assert plan.exit_code in (0, 4, 5), plan.stderr
    assert "acme/site/more" in plan.stdout
    assert "to delete" in plan.stdout or "removed" in plan.stdout
    assert project("plan", "--env", "production", "--detailed-exitcode").exit_code == 0
    staging = (project.root / "environments" / "staging.yaml").read_text(encoding="utf-8")
    project.write("environments/staging.yaml", f"{staging}removed: [{{address: acme/site/more, action: delete}}]\n")
    assert project("apply", "--yes", "--env", "staging").exit_code == 0
    assert "acme/site/more" not in project("state", "list", "--env", "staging").stdout
    project.edit("reconciler.yaml", "to: acme/site/extra}", "to: acme/site/wrong}")
    assert "moved.to is acme/site/wrong, which is not declared" in project("validate", "--env", "staging").stderr


EXAMPLES = Path(__file__).parents[2] / "examples"
IMPORTED_PROJECT = """\
version: 1
project: docs
service: {sandbox: production.db, member: ada@acme.example}

organizations:
  acme:
    id: org_acme
    title: Acme
    members: {ada@acme.example: admin}
    content:
      - {space: blank, id: spc_blank, title: Blank}
      - collection: internal
        title: Internal
        content: []
      - {collection: public, title: Public}
    teams: {writers: {title: Writers}}
    sites:
      docs: {title: Documentation, visibility: public, shareLinks: {partners: {name: Partners}}}
      labs: {title: Labs, shareLinks: {friends: {name: Friends}}}
"""
IMPORTED_STAGING = """\
service: {sandbox: staging.db}
patch:
  - {match: acme/site/*, set: {visibility: unlisted}}
  - {match: acme/site/labs, remove: true}
  - {match: acme/collection/internal, remove: true}
  - {match: acme/site/docs/share-link/*, remove: true}
"""
IMPORTED_LABS = "acme/site/labs is removed by a patch of the environment: environments/staging.yaml:4:13"


@pytest.fixture
def staging(cli: Cli) -> Cli:
    """A project that is applied to staging."""
    cli.write("reconciler.yaml", IMPORTED_PROJECT)
    cli.write("environments/staging.yaml", IMPORTED_STAGING)
    cli.write("environments/production.yaml", "{}\n")
    assert cli("apply", "--yes", "--env", "staging").exit_code == 0
    return cli


def api(cli: Cli, *words: str) -> str:
    return cli("api", *words, "--sandbox", "staging.db", "--env", "staging", code=0).stdout


def site(cli: Cli, title: str) -> str:
    """A site that somebody else creates."""

    return str(json.loads(api(cli, "POST", "/orgs/org_acme/sites", "-f", f"title={title}", "-f", "visibility=public"))["id"])


@costly
def test_right_after_an_apply_nothing_is_imported_in_any_environment(staging: Cli) -> None:
    assert staging("apply", "--yes", "--env", "production").exit_code == 0
    for name in ("staging", "production"):
        done = staging("import", ".", "--into", "--env", name)
        assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n", done.stderr
        assert "not written" not in done.stderr
    shutil.copytree(EXAMPLES / "environments", staging.root / "example")
    for name in ("staging", "production"):
        words = ("--env", name, "--sandbox", f"{name}-example.db")
        assert staging("apply", "example", "--yes", *words).exit_code == 0
        assert staging("import", "example", "--into", *words).stdout == "Wrote 0 files to example and tracked 0 objects.\n"


def test_an_object_that_a_patch_removes_is_not_written_again(staging: Cli) -> None:
    labs = site(staging, "Labs")
    api(staging, "POST", f"/orgs/org_acme/sites/{labs}/share-links", "-f", "name=Enemies")
    done = staging("import", ".", "--into", "--env", "staging", code=0)
    assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n"
    assert f"not written: site 'Labs' ({labs}): {IMPORTED_LABS}" in done.stderr
    assert "Enemies" not in done.stderr
    assert (staging.root / "reconciler.yaml").read_text() == IMPORTED_PROJECT


def test_what_is_still_tracked_when_a_patch_begins_to_remove_it_is_not_written_again(staging: Cli) -> None:
    staging.write("environments/staging.yaml", IMPORTED_STAGING + "  - {match: acme/team/*, remove: true}\n")
    done = staging("import", ".", "--into", "--env", "staging")
    assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n"
    assert "acme/team/writers is removed by a patch of the environment: environments/staging.yaml:7:13" in done.stderr


def test_a_new_object_that_a_patch_would_remove_is_not_written(staging: Cli) -> None:
    docs = next(row.split()[2] for row in staging("state", "list", "--env", "staging").stdout.splitlines() if "acme/site/docs " in row)
    api(staging, "POST", f"/orgs/org_acme/sites/{docs}/share-links", "-f", "name=New")
    done = staging("import", ".", "--into", "--env", "staging")
    assert done.stdout == "Wrote 0 files to . and tracked 0 objects.\n"
    assert "acme/site/docs/share-link/new is removed by a patch of the environment: environments/staging.yaml:6:13" in done.stderr


def test_a_value_that_a_patch_sets_is_not_written_for_all_environments(staging: Cli) -> None:
    site(staging, "Blog")
    done = staging("import", ".", "--into", "--env", "staging")
    assert "tracked 1 object.\n" in done.stdout, done.stderr
    text = (staging.root / "sites" / "blog.yaml").read_text()
    assert "title: Blog" in text
    assert "# visibility was not written: a patch of the environment sets it at environments/staging.yaml:3:32\n" in text
    assert "visibility:" not in text


def test_what_was_tracked_before_is_not_counted_as_tracked_by_an_import(staging: Cli) -> None:
    api(staging, "PATCH", "/spaces/spc_blank", "-f", "title=White")
    staging.edit("reconciler.yaml", "title: Blank", "title: White")
    site(staging, "Blog")
    assert "tracked 1 object.\n" in staging("import", ".", "--into", "--env", "staging").stdout


def test_a_new_id_is_that_of_one_environment_and_the_import_says_so(staging: Cli) -> None:
    api(staging, "POST", "/spaces/spc_blank/duplicate")
    done = staging("import", ".", "--into", "--env", "staging", code=0)
    assert "was written with its id in staging; in other environments it has another: a patch can set the id there" in done.stderr


def test_a_reference_to_what_a_patch_removes_is_not_accepted(staging: Cli) -> None:
    labs = site(staging, "Labs")
    staging.edit("reconciler.yaml", "    title: Acme\n", "    title: Acme\n    defaultContent: {site: docs}\n")
    assert staging("apply", "--yes", "--env", "staging").exit_code == 0
    api(
        staging,
        "PATCH",
        "/orgs/org_acme",
        "--input",
        staging.write("body.json", f'{{"defaultContent": {{"type": "site", "site": "{labs}"}}}}'),
    )
    done = staging("drift", "--env", "staging", "--accept", "acme.defaultContent", code=4)
    assert f"acme.defaultContent cannot be written: {IMPORTED_LABS}" in done.stderr


def test_a_move_into_what_a_patch_removes_is_not_accepted(staging: Cli) -> None:

    made = json.loads(api(staging, "POST", "/orgs/org_acme/collections", "-f", "title=Internal"))["id"]
    api(staging, "POST", "/spaces/spc_blank/move", "-f", f"parent={made}")
    done = staging("drift", "--env", "staging", "--accept", "acme/space/blank", code=4)
    assert "acme/space/blank is now in acme/collection/internal, but acme/collection/internal is removed by a patch" in done.stderr
    assert (staging.root / "reconciler.yaml").read_text() == IMPORTED_PROJECT


VALUES_PROJECT = """\
version: 1
project: test
service: {sandbox: sandbox.db}
vars:
  brand: {type: string}
organizations:
  acme:
    id: org_acme
    title: ${{ vars.brand }}
"""


@pytest.fixture
def values_project(cli: Cli) -> Cli:
    cli.write("p/reconciler.yaml", VALUES_PROJECT)
    return cli


def test_variables_come_from_files_and_from_standard_input(values_project: Cli) -> None:
    values_project.write("given.yaml", "brand: Beta  # why\n")
    assert "title: Beta" in values_project("config", "render", "p", "--var-file", "given.yaml").stdout
    made = values_project("config", "render", "p", "--var-file", "given.yaml", "--var-file", "-", input=json.dumps({"brand": "Gamma"}))
    assert "title: Gamma" in made.stdout
    assert '# vars.brand = "Gamma", from standard input:1' in made.stdout


@pytest.mark.parametrize(
    ("words", "input", "problem"),
    [
        (("--var-file", "-"), '{"brand":\n [1]}', "standard input:2:2  vars.brand: the value is a list, which is not of type string"),
        (("--var-file", "-"), "", "standard input  this file is empty"),
        (("--var-file", "p/given.yaml"), None, "given.yaml:1:1  variable \"brnd\" is not declared"),
        (("--var-file", "nowhere.yaml"), None, "'nowhere.yaml' cannot be read: no such file or directory"),
        (("--var-file", "p"), None, "'p' cannot be read: it is not a regular file"),
        (("--var-file", "-", "--var-file", "-"), "{}", "standard input can be read only once"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_one_sentence_with_its_place(
    values_project: Cli, words: tuple[str, ...], input: str | None, problem: str
) -> None:
    values_project.write("p/given.yaml", "brnd: Acme\n")
    assert problem in values_project("validate", "p", *words, input=input, code=3).stderr


def test_validate_remembers_a_project_with_the_values_of_its_files(values_project: Cli) -> None:
    for title, code in (("Beta", 0), ("B", 3), ("Beta", 0), ("Acme", 0)):
        values_project.write("given.yaml", f"brand: {title}\n")
        assert values_project("validate", "p", "--var-file", "given.yaml").exit_code == code


def test_a_saved_plan_names_the_files_it_was_made_with(values_project: Cli) -> None:
    values_project.write("given.yaml", "brand: Beta\n")
    made = values_project("plan", "p", "--var-file", "given.yaml", "--out", "saved.plan", code=0)
    assert "--var-file=given.yaml" in made.stdout + made.stderr
    assert values_project("apply", "p", "--var-file", "given.yaml", "--plan", "saved.plan").exit_code == 0


def test_an_unused_variable_is_a_warning_of_every_command_that_loads_the_project(values_project: Cli) -> None:
    values_project.edit("p/reconciler.yaml", "  brand: {type: string}\n", "  brand: {type: string}\n  rest: {default: 1}\n")
    for words in (("validate", "p"), ("plan", "p"), ("validate", "p", "--quiet")):
        result = values_project(*words, "--var", "brand=Beta", code=0)
        assert "warning: reconciler.yaml:6:3  vars.rest is not used; remove it, or use it" in result.stderr


def test_differences_that_nobody_could_see_are_not_listed_and_a_text_has_quotes_beside_a_number(project: Cli) -> None:
    shown = [*_line("a", UNSET, UNSET), *_line("b", (1, 2), [1, 2]), *_line("c", "1", 1), *_line("d", None, UNSET), *_line("e", "x", "y")]
    assert shown == ['c: "1" -> 1', "d: null -> (not set)", "e: x -> y"]
    for text in ("", "(not set)", "null", "-1.5", "two\nlines", " x", "[a]"):
        assert [*_line("f", text, UNSET), *_line("f", "a [b]", text)] == [
            f"f: {json.dumps(text)} -> (not set)",
            f"f: a [b] -> {json.dumps(text)}",
        ]
    for line in project("config", "diff", "staging", "production").stdout.splitlines():
        before, _, after = line.partition(": ")[2].partition(" -> ")
        assert before != after


def test_a_patch_of_a_generated_resource_is_named_and_not_its_generator(project: Cli) -> None:
    project.edit(
        "reconciler.yaml", "labs: {title: Labs}\n", 'labs: {title: Labs}\n      "${{ each.value }}": {forEach: [one], title: One}\n'
    )
    staging = STAGING.replace("patch:\n", "patch:\n  - {match: acme/site/one, set: {title: Staged}}\n")
    project.write("environments/staging.yaml", staging)
    project("apply", "--yes", "--env", "staging", code=0)
    id = next(line.split()[-1] for line in project("state", "list", "--env", "staging").stdout.splitlines() if "acme/site/one " in line)
    project("api", "PATCH", f"/orgs/org_staging/sites/{id}", "-f", "title=By hand", "--sandbox", "staging.db", "--env", "staging", code=0)
    refused = project("drift", "--accept", "acme/site/one", "--env", "staging").stderr
    place = next(number for number, line in enumerate(staging.splitlines(), 1) if "Staged" in line)
    assert f"Change the patch: environments/staging.yaml:{place}:" in refused
    assert "each.value" not in refused
