"""`reconciler fleet preview`: what a commit does to every project of a fleet, from git alone."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from reconciler.fleet.commits.preview import follows, place
from reconciler.fleet.model import Repository
from reconciler.sandbox.server import embedded
from tests.command_line import Cli
from tests.contains import assert_contains
from tests.documents import valid
from tests.proofs import costly, spread, tries

if TYPE_CHECKING:
    from reconciler.fleet.store import FleetDatabase

pytest.importorskip("sqlalchemy", reason="the extra `fleet` is not installed")

NAMES: Final = ("acme", "globex", "initech", "umbrella")
PROJECT: Final = """\
version: 1
project: {name}-docs
organizations:
  {name}:
    id: org_{name}
    title: {title}
    members: {{ada@{name}.example: admin}}
    content:
      - {{space: blank, title: Blank, id: spc_{name}}}
      - {{space: guides, title: {title} guides, duplicateOf: blank}}
      - {{space: api, title: API, duplicateOf: blank}}
    sites:
      docs:
        title: {title} docs
        visibility: unlisted
        published: true
        structure:
          - {{section: guides, title: Guides, spaces: [guides]}}
          - {{section: api, title: API, spaces: [api]}}
"""
EDITS: Final = {
    "nothing": ("", ""),
    "title": ("title: API, duplicateOf", "title: Reference, duplicateOf"),
    "section": ("          - {section: api, title: API, spaces: [api]}\n", ""),
    "public": ("visibility: unlisted", "visibility: public"),
    "both": ("title: Blank", "title: Empty"),
}
FLEET: Final = """\
version: 1
defaults:
  baseUrl: https://api.example.com
  token: {{env: ACME_TOKEN}}
  source: {{git: "file://{root}"}}
generators:
  - directories: {{path: "orgs/*"}}
    template: {{name: "${{{{ each.name }}}}", project: "*"}}
"""


def git(folder: Path, *words: str) -> None:
    identity = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@acme.example"}
    committer = {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@acme.example"}
    environment = {**os.environ, **identity, **committer, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment)


def commit(cli: Cli) -> None:
    git(cli.root, "add", "-A")
    git(cli.root, "commit", "-q", "--allow-empty", "-m", "one more")


def write(cli: Cli, *names: str) -> None:
    for name in names:
        cli.write(f"orgs/{name}/reconciler.yaml", PROJECT.format(name=name, title=name.title()))


def quoted(text: str, name: str, title: str) -> str:
    """A project whose name and title need quotes in YAML."""
    text = re.sub(r"title: \{title\}(.*?)(,|\n)", rf'title: "{title}\1"\2', text)
    return re.sub(r"\{name\}:\n", f'"{name}":\n', text).format(name=name)


def edit(cli: Cli, name: str, *sorts: str) -> None:
    for sort in sorts:
        if sort != "nothing":
            cli.edit(f"orgs/{name}/reconciler.yaml", *EDITS[sort])


@pytest.fixture
def fleet(tmp_path: Path) -> Cli:
    """A repository with a directory for each organization and the fleet file, on a branch that has nothing yet."""
    cli = Cli(tmp_path)
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    write(cli, *NAMES)
    cli.write("fleet.yaml", FLEET.format(root=cli.root))
    git(cli.root, "init", "-q", "-b", "main")
    commit(cli)
    git(cli.root, "checkout", "-q", "-b", "change")
    return cli


def preview(cli: Cli, *words: str) -> Any:
    return valid(cli.json("fleet", "preview", "fleet.yaml", "--from", "main", *words), "fleet-preview")


def groups(document: Any) -> list[tuple[list[str], str]]:
    return [(group["projects"], group["worst"]) for group in document["groups"]]


# -- groups -------------------------------------------------------------------------------------------------------------------------------


def test_equal_changes_are_one_group_and_the_outlier_comes_first(fleet: Cli) -> None:
    for name in ("acme", "initech", "umbrella"):
        edit(fleet, name, "title")
    edit(fleet, "globex", "title", "section")
    commit(fleet)
    document = preview(fleet)
    assert groups(document) == [(["globex"], "locking-out"), (["acme", "initech", "umbrella"], "changing")]
    assert document["groups"][1]["summary"] == "1 to update. 1 request."
    assert (document["unchanged"], document["appear"], document["vanish"], document["problems"]) == ([], [], [], [])
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", "--detailed-exitcode", code=2)
    assert_contains(
        done.stdout,
        "Deleted: 1 section and 1 site-space (globex/site/docs/section/api and globex/site/docs/site-space/api).",
        "3 projects like acme: 1 to update. 1 request.",
        "the same for initech and umbrella",
        "~ acme/space/api",
        "Preview: 4 of 4 projects change, in 2 ways.",
    )


def test_a_commit_that_changes_nothing_says_so(fleet: Cli) -> None:
    fleet.write("README.md", "more")
    commit(fleet)
    assert preview(fleet)["unchanged"] == list(NAMES)
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", "--detailed-exitcode", code=0)
    assert done.stdout.endswith("Preview: none of 4 projects changes.\n")


def without_names(document: Any, name: str) -> str:
    """What a person would call the same plan: without the name, the ids that follow from it, and where anything is written."""
    document = {key: value for key, value in document.items() if key not in ("project", "createdAt")}
    document["steps"] = [{key: value for key, value in step.items() if key != "path"} for step in document["steps"]]
    text = re.sub(r'"source": \{[^}]*\}', "", json.dumps(document, sort_keys=True))
    return re.sub(rf"(?i){name}", "NAME", text)


@costly
@pytest.mark.parametrize("seed", spread(range(3), push=1))
def test_the_groups_are_those_of_a_diff_of_each_project(fleet: Cli, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"{word}{number}" for word in ("alpha", "beta", "gamma") for number in range(tries(100, 4))]
    write(fleet, *names)
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    for name in names:
        edit(fleet, name, *chance.sample(sorted(EDITS), chance.choice((1, 1, 2))))
    commit(fleet)
    document = preview(fleet)
    single = {name: fleet.json("diff", f"orgs/{name}", "--from", "main", "--to", "HEAD") for name in (*NAMES, *names)}
    assert set(document["unchanged"]) == {name for name, plan in single.items() if not plan["changes"]}
    alike: dict[str, set[str]] = {}
    for name, plan in single.items():
        if plan["changes"]:
            alike.setdefault(without_names(plan, name), set()).add(name)
    assert sorted(map(sorted, alike.values())) == sorted(sorted(group["projects"]) for group in document["groups"])
    for group in document["groups"]:
        assert {**group["plan"], "createdAt": ""} == {**single[group["example"]], "createdAt": ""}


def test_one_project_file_for_all_organizations_is_planned_with_the_variables_of_each(fleet: Cli) -> None:
    text = PROJECT.format(name="org", title="TITLE").replace("id: org_org", 'id: "${{ vars.id }}"').replace("    title: TITLE\n", "")
    text = re.sub(r"TITLE (guides|docs)", r'"${{ vars.title }} \1"', text)
    text = text.replace("project: org-docs\n", "project: docs-${{ vars.id }}\nvars: {id: {}, title: {}, visibility: {default: unlisted}}\n")
    fleet.write("shared/reconciler.yaml", text.replace("visibility: unlisted\n", 'visibility: "${{ vars.visibility }}"\n', 1))
    opened = {name: "public" if name == "acme" else "unlisted" for name in NAMES}
    listed = "\n".join(f"      - {{id: org_{name}, title: {name.title()} Inc, open: {opened[name]}}}" for name in NAMES)
    fleet.write(
        "fleet.yaml",
        FLEET.format(root=fleet.root).partition("generators:")[0]
        + f"generators:\n  - list:\n{listed}\n"
        + '    template: {name: "f-${{ each.id }}", project: "docs-*", source: {path: shared},\n'
        + '      vars: {id: "${{ each.id }}", title: "${{ each.title }}", visibility: "${{ each.open }}"}}\n',
    )
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    fleet.edit("shared/reconciler.yaml", 'guides", duplicateOf', 'handbook", duplicateOf')
    commit(fleet)
    assert groups(preview(fleet)) == [([f"f-org_{name}" for name in NAMES], "changing")]
    fleet.edit("shared/reconciler.yaml", 'visibility: "${{ vars.visibility }}"', "visibility: public")
    commit(fleet)
    # Of acme it is public already: a value of the language is no name, whatever variable it comes from.
    assert groups(preview(fleet)) == [(["f-org_acme"], "changing"), ([f"f-org_{name}" for name in NAMES[1:]], "exposing")]


def test_a_name_that_is_a_word_of_the_plan_or_a_number_is_still_a_name(fleet: Cli) -> None:
    """Of each the plan is the same, and so is the name: as the organization, in titles, addresses, paths and sentences."""
    names = ["space", "title", "update", "api", "guides", "section", "no", "public", "unlisted", "42", "7", "acme-eu", "a"]
    for name, title in zip(
        names, ["space", "title", "Update", "API", "Guides", "No", "the", "X 1", "is", "42", "77", "Acme", "A B"], strict=True
    ):
        fleet.write(f"orgs/{name}/reconciler.yaml", quoted(PROJECT, name, title))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    for name in (*NAMES, *names):
        edit(fleet, name, "section", "public")
        end = '", duplicateOf' if name in names else ", duplicateOf"
        fleet.edit(f"orgs/{name}/reconciler.yaml", f" guides{end}", f" handbook{end}")
    edit(fleet, "42", "both")
    commit(fleet)
    assert [group["projects"] for group in preview(fleet)["groups"]] == [["42"], sorted({*NAMES, *names} - {"42"})]


def test_names_in_other_words_and_variables_of_the_files_are_names(fleet: Cli) -> None:
    """`Acme` of `Acme Docs, Inc.`, `Blue Sky` of blue-sky, and what a variable of the project's own files contains."""
    titles = {"acme": "Acme Docs, Inc.", "globex": "Globex", "blue-sky": "The company", "initech": "IT"}
    for name, title in titles.items():
        text = PROJECT.replace("title: {title}\n", f'title: "{title}"\n').replace(
            "organizations:", "vars: {{team: {{default: of {name}}}}}\norganizations:"
        )
        fleet.write(f"orgs/{name}/reconciler.yaml", text.format(name=name, title=name.title().replace("-", " ")))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    for name in titles:
        path = f"orgs/{name}/reconciler.yaml"
        fleet.write(
            path,
            (fleet.root / path)
            .read_text()
            .replace(" guides, dup", " handbook, dup")
            .replace("title: API, dup", 'title: "API ${{ vars.team }}", dup'),
        )
    commit(fleet)
    assert groups(preview(fleet)) == [(sorted(titles), "changing")]


def test_values_of_the_language_that_are_names_elsewhere_stay_different(fleet: Cli) -> None:
    for name in ("comment", "edit"):
        fleet.write(
            f"orgs/{name}/reconciler.yaml", PROJECT.format(name=name, title=name.title()).replace("ada@", "bob@x.example: read, ada@")
        )
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    for name in ("comment", "edit"):
        fleet.edit(f"orgs/{name}/reconciler.yaml", "read", name)
    commit(fleet)
    assert [group["projects"] for group in preview(fleet)["groups"]] == [["comment"], ["edit"]]


def test_a_title_that_becomes_another_one_is_a_change(fleet: Cli) -> None:
    """One that gets longer is the same change for all, also where the title is a word of the language."""
    fleet.write("orgs/admin/reconciler.yaml", PROJECT.format(name="admin", title="admin"))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    for name in (*NAMES, "admin"):
        title = "title: admin\n" if name == "admin" else f"title: {name.title()}\n"
        fleet.edit(f"orgs/{name}/reconciler.yaml", title, "title: Hooli\n" if name == "globex" else title.replace("\n", " Corp\n"))
    commit(fleet)
    assert [group["projects"] for group in preview(fleet)["groups"]] == [["globex"], ["acme", "admin", "initech", "umbrella"]]


def test_two_variables_of_a_project_are_two_names(fleet: Cli) -> None:
    for name in NAMES:
        text = PROJECT.format(name=name, title=name.title())
        fleet.write(f"orgs/{name}/reconciler.yaml", text.replace("organizations:", "vars: {open: {}, kept: {}}\norganizations:", 1))
    texts = {"acme": ("Web", "Intranet"), "globex": ("Front", "Staff"), "initech": ("17", "Inside"), "umbrella": ("8", "Team")}
    projects = "".join(
        f'  - {{name: {name}-docs, source: {{path: orgs/{name}}}, vars: {{open: "{opened}", kept: {kept}}}}}\n'
        for name, (opened, kept) in texts.items()
    )
    fleet.write("fleet.yaml", FLEET.format(root=fleet.root).partition("generators:")[0] + f"projects:\n{projects}")
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    for name in NAMES:
        variable = "kept" if name == "globex" else "open"
        fleet.edit(f"orgs/{name}/reconciler.yaml", "title: API, duplicateOf", f'title: "${{{{ vars.{variable} }}}} API", duplicateOf')
    commit(fleet)
    document = preview(fleet)
    assert document["problems"] == []
    assert [group["projects"] for group in document["groups"]] == [["globex-docs"], ["acme-docs", "initech-docs", "umbrella-docs"]]


# -- what goes wrong for one project ------------------------------------------------------------------------------------------------------


def test_a_project_that_does_not_load_is_a_problem_of_its_own_at_its_line(fleet: Cli) -> None:
    edit(fleet, "acme", "title")
    fleet.edit("orgs/globex/reconciler.yaml", "visibility:", "visability:")
    fleet.edit("orgs/initech/reconciler.yaml", "project: initech-docs", "project: '*'")
    shutil.rmtree(fleet.root / "orgs" / "umbrella")
    fleet.write("orgs/umbrella/README.md", "moved")
    commit(fleet)
    document = preview(fleet)
    assert groups(document) == [(["acme"], "changing")]
    problems = {problem["project"]: (problem["file"].partition(":")[2], problem["line"], problem["id"]) for problem in document["problems"]}
    assert problems["globex"] == ("orgs/globex/reconciler.yaml", 15, "RC-unknown-field")
    assert problems["umbrella"] == ("orgs/umbrella", 0, "RC-no-project")
    assert problems["initech"][:2] == ("orgs/initech/reconciler.yaml", 2)
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", code=5)
    assert 'orgs/globex/reconciler.yaml:15:9  globex/site/docs: unknown field "visability"' in done.stdout
    assert "Preview: 1 of 4 projects changes; 3 cannot be planned." in done.stdout


def test_a_link_in_the_place_of_a_project_leads_nowhere(fleet: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copy(fleet.root / "orgs/acme/reconciler.yaml", elsewhere)
    shutil.rmtree(fleet.root / "orgs/acme")
    (fleet.root / "orgs/acme").symlink_to(elsewhere)
    shutil.rmtree(fleet.root / "orgs/globex")
    (fleet.root / "orgs/globex").mkdir()
    (fleet.root / "orgs/globex/reconciler.yaml").symlink_to(elsewhere / "reconciler.yaml")
    commit(fleet)
    document = preview(fleet)
    assert document["vanish"] == ["acme"]  # a link is no directory of the commit
    assert [(problem["project"], problem["id"]) for problem in document["problems"]] == [("globex", "RC-link-not-read")]
    assert groups(document) == []


def test_a_name_of_another_project_in_the_files_is_refused_as_the_fleet_refuses_it(fleet: Cli) -> None:
    fleet.write("fleet.yaml", FLEET.format(root=fleet.root).replace('project: "*"', 'project: "acme-*"'))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    document = preview(fleet)
    assert {problem["project"] for problem in document["problems"]} == {"globex", "initech", "umbrella"}
    assert "the fleet file allows acme-*" in document["problems"][0]["message"]


def test_a_plan_that_violates_a_policy_refuses_the_preview(fleet: Cli) -> None:
    rule = "{id: no-public, on: [site], assert: \"${{ after.visibility != 'public' }}\", message: sites stay unlisted}"
    path = "orgs/acme/reconciler.yaml"
    fleet.write(path, (fleet.root / path).read_text() + f"policies:\n  - {rule}\n")
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    edit(fleet, "acme", "public")
    edit(fleet, "globex", "title")
    commit(fleet)
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", code=4)
    assert_contains(done.stdout, "2 of 4 projects change", "violation  ")
    assert "the plan of acme" in done.stderr


def test_an_environment_that_the_commit_removes_is_a_problem_of_its_project(fleet: Cli) -> None:
    """Also if it was the only one: a run would not read the project without it."""
    fleet.write("orgs/acme/environments/staging.yaml", "organizations: {acme: {id: org_staging}}\n")
    for name in ("acme", "globex"):
        fleet.write(f"orgs/{name}/environments/staging.yaml", f"organizations: {{{name}: {{id: org_staging}}}}\n")
    fleet.write("orgs/globex/environments/production.yaml", "{}\n")
    fleet.write(
        "fleet.yaml",
        FLEET.format(root=fleet.root).partition("generators:")[0]
        + "projects:\n  - {name: acme-docs, environment: staging, source: {path: orgs/acme}}\n"
        + "  - {name: globex-docs, environment: staging, source: {path: orgs/globex}}\n",
    )
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    (fleet.root / "orgs/acme/environments/staging.yaml").unlink()
    (fleet.root / "orgs/globex/environments/staging.yaml").unlink()
    commit(fleet)
    document = preview(fleet)
    problems = [(problem["project"], problem["file"], problem["id"]) for problem in document["problems"]]
    wrong = "RC-environment-unknown"
    assert problems == [("acme-docs", "HEAD:orgs/acme", wrong), ("globex-docs", "HEAD:orgs/globex", wrong)]


def test_no_message_names_the_folder_in_which_the_files_were_read(fleet: Cli) -> None:
    for name in ("acme", "globex"):
        (fleet.root / f"orgs/{name}/reconciler.yaml").unlink()
    (fleet.root / "orgs/acme/reconciler.yaml").symlink_to("../initech/reconciler.yaml")
    fleet.write(
        "orgs/globex/reconciler.yaml",
        PROJECT.format(name="globex", title="\"${{ file('../initech/reconciler.yaml') }}\"").replace('" ', ' "'),
    )
    commit(fleet)
    messages = {problem["project"]: problem["message"] for problem in preview(fleet)["problems"]}
    assert "leads out of orgs/acme; replace the link" in messages["acme"]
    assert not any("reconciler-diff" in message for message in messages.values())


def test_another_name_of_the_project_is_noted_because_its_state_does_not_follow(fleet: Cli) -> None:
    for name in ("acme", "globex"):
        fleet.edit(f"orgs/{name}/reconciler.yaml", f"project: {name}-docs", f"project: {name}-book")
    commit(fleet)
    note = "2 projects like acme: project is acme-book instead of acme-docs. Its state keeps the old name: "
    note += "reconciler state mv --project acme-docs."
    assert note in preview(fleet)["notes"]


# -- the fleet file -----------------------------------------------------------------------------------------------------------------------


def test_directories_that_are_new_or_deleted_appear_and_vanish(fleet: Cli) -> None:
    write(fleet, "hooli")
    shutil.rmtree(fleet.root / "orgs" / "acme")
    commit(fleet)
    document = preview(fleet)
    assert (document["appear"], document["vanish"], document["groups"]) == (["hooli"], ["acme"], [])
    assert "none of 3 projects changes; 1 appears, 1 vanishes." in fleet("fleet", "preview", "fleet.yaml", "--from", "main", code=0).stdout


def test_what_appears_is_checked_as_well(fleet: Cli) -> None:
    write(fleet, "hooli")
    fleet.edit("orgs/hooli/reconciler.yaml", "sites:", "site:")
    commit(fleet)
    assert [problem["project"] for problem in preview(fleet)["problems"]] == ["hooli"]


def test_the_fleet_file_of_a_change_does_not_hide_what_its_merge_does(fleet: Cli) -> None:
    """Nobody has applied it then: the workers still take the file that is in effect."""
    shutil.copytree(fleet.root / "orgs", fleet.root / "kept")
    edit(fleet, "globex", "section")
    fleet.edit("fleet.yaml", 'path: "orgs/*"', 'path: "kept/*"')
    commit(fleet)
    document = preview(fleet)
    assert groups(document) == [(["globex"], "locking-out")]
    assert [(group["projects"], group["after"]) for group in document["groups"]] == [(["globex"], "merge")]
    assert {changed["project"]: changed["keys"] for changed in document["reconfigured"]} == {name: ["source"] for name in NAMES}


def test_what_a_new_fleet_file_does_is_shown_beside_it(fleet: Cli) -> None:
    write(fleet, "wonka")
    edit(fleet, "wonka", "title")
    text = FLEET.format(root=fleet.root)
    fleet.write(
        "fleet.yaml", text + '  - list: [hooli]\n    template: {name: "${{ each.value }}", project: "*", source: {path: orgs/wonka}}\n'
    )
    commit(fleet)
    document = preview(fleet)
    assert document["appear"] == ["wonka", "hooli"]
    git(fleet.root, "branch", "-f", "main")
    fleet.edit("fleet.yaml", "source: {path: orgs/wonka}}", "source: {path: orgs/acme}}")
    commit(fleet)
    document = preview(fleet)
    assert [(group["projects"], group["after"]) for group in document["groups"]] == [(["hooli"], "fleet-apply")]
    assert "once `fleet apply` takes the new fleet file" in fleet("fleet", "preview", "fleet.yaml", "--from", "main").stdout


def test_a_wrong_fleet_file_of_the_change_names_its_commit_and_line(fleet: Cli) -> None:
    fleet.edit("fleet.yaml", "generators:", "generatorz:")
    commit(fleet)
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", code=3)
    assert re.search(r'HEAD:fleet.yaml:6:1  unknown key "generatorz"', done.stderr)


def test_projects_of_other_branches_and_repositories_are_counted_and_not_planned(fleet: Cli) -> None:
    more = (
        'projects:\n  - {name: other, source: {git: "https://git.example.com/x.git"}}\n'
        "  - {name: tagged, source: {ref: v1, path: orgs/acme}}\n"
        "  - {name: followed, project: acme-docs, source: {ref: main, path: orgs/acme}}\n"
    )
    fleet.write("fleet.yaml", FLEET.format(root=fleet.root).replace("generators:", f"{more}generators:"))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    edit(fleet, "acme", "title")
    commit(fleet)
    document = preview(fleet)
    assert groups(document) == [(["followed", "acme"], "changing")]
    assert "2 projects with files of another repository, branch, tag or commit: not shown." in document["notes"]


def test_a_project_that_gets_another_branch_neither_vanishes_nor_appears(fleet: Cli) -> None:
    projects = (
        "projects:\n  - {name: acme-docs, source: {path: orgs/acme}}\n  - {name: globex-docs, source: {ref: old, path: orgs/globex}}\n"
    )
    fleet.write("fleet.yaml", FLEET.format(root=fleet.root).partition("generators:")[0] + projects)
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    fleet.edit("fleet.yaml", "{path: orgs/acme}", "{ref: old, path: orgs/acme}")
    fleet.edit("fleet.yaml", "{ref: old, path: orgs/globex}", "{path: orgs/globex}")
    commit(fleet)
    document = preview(fleet)
    assert (document["appear"], document["vanish"]) == ([], [])
    assert {changed["project"]: changed["keys"] for changed in document["reconfigured"]} == {
        "acme-docs": ["source"],
        "globex-docs": ["source"],
    }


def test_a_directory_that_cannot_be_a_project_names_the_commit_that_has_it(fleet: Cli) -> None:
    fleet.write("orgs/-wrong/README.md", "no project")
    commit(fleet)
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", code=3)
    assert_contains(done.stderr, 'name of a project is "-wrong"', "1 problem in the fleet with the directories of HEAD (")


def test_changes_that_are_not_committed_are_noted(fleet: Cli) -> None:
    note = "Changes of files that are not committed are not compared."
    assert note not in preview(fleet)["notes"]
    edit(fleet, "acme", "title")
    assert note in preview(fleet)["notes"]
    assert note not in preview(fleet, "--to", "main")["notes"]


def test_a_default_branch_that_was_renamed_is_named_with_the_way_past_it(fleet: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = Cli(tmp_path_factory.mktemp("clone"))
    git(fleet.root, "clone", "-q", str(fleet.root), str(clone.root))
    done = clone("fleet", "preview", "fleet.yaml", "--from", "origin/main", code=3)
    assert "Without source.ref, that is change in this clone; if it no longer is: git remote set-head origin --auto." in done.stderr


def test_outside_of_a_repository_the_present_folder_is_named(fleet: Cli, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = Cli(tmp_path_factory.mktemp("outside"))
    outside.write("fleets/fleet.yaml", FLEET.format(root=fleet.root))
    done = outside("fleet", "preview", "fleets", "--from", "main", code=3)
    assert f"{outside.root} is not in a git repository" in done.stderr


def test_a_fleet_of_another_repository_says_so(fleet: Cli) -> None:
    fleet.write("fleet.yaml", FLEET.format(root="/nowhere"))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    done = fleet("fleet", "preview", "fleet.yaml", "--from", "main", code=3)
    assert "no project of fleet.yaml takes its files from this repository and its branch main" in done.stderr


def test_a_generator_that_reads_the_service_is_named(fleet: Cli) -> None:
    fleet.write(
        "fleet.yaml", FLEET.format(root=fleet.root) + '  - organizations: {}\n    template: {name: "${{ each.id }}", project: "x-*"}\n'
    )
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    assert any("generator 2 (organizations) lists what the service shows" in note for note in preview(fleet)["notes"])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://user:token@Git.Example.com/Acme/docs.git", ("git.example.com", "acme/docs")),
        ("ssh://git@git.example.com:2222/acme/docs", ("git.example.com", "acme/docs")),
        ("git@git.example.com:acme/docs.git/", ("git.example.com", "acme/docs")),
        ("file:///srv/git/Docs.git", ("", "srv/git/Docs")),
        ("/srv/git/Docs", ("", "srv/git/Docs")),
    ],
)
def test_a_repository_is_the_same_however_its_url_is_written(url: str, expected: tuple[str, str]) -> None:
    assert place(url) == expected


def test_head_means_the_default_branch() -> None:
    assert follows(Repository("x"), "main", "main")
    assert not follows(Repository("x"), "release", "main")
    assert follows(Repository("x", "release"), "release", "main")
    assert not follows(Repository("x", "v1"), "main", "main")


# -- other readers ------------------------------------------------------------------------------------------------------------------------


def test_the_comment_of_a_pull_request_shows_the_outlier_and_no_markup_of_a_title(fleet: Cli) -> None:
    fleet.edit("orgs/globex/reconciler.yaml", "title: API, duplicateOf", 'title: "<img src=x> @all", duplicateOf')
    edit(fleet, "acme", "section")
    commit(fleet)
    fleet("fleet", "preview", "fleet.yaml", "--from", "main", "--report", "json=preview.json", "--report", "html=preview.html")
    comment = fleet("comment", "preview.json", "--dry-run", code=0).stdout
    assert_contains(
        comment, "#### Fleet preview of `fleet.yaml`", "**2 of 4 projects change, in 2 ways.**", "- `acme: Access ends", "@@ acme @@"
    )
    page = (fleet.root / "preview.html").read_text(encoding="utf-8")
    assert "&lt;img src=x&gt; @all" in page
    assert "<img" not in page
    assert "1 needs attention" in page
    assert "globex/<wbr>space/<wbr>api" in page, "an address breaks after a slash"
    edit(fleet, "initech", "public")
    commit(fleet)
    shown = fleet("fleet", "preview", "fleet.yaml", "--from", "main").stdout
    assert re.search(r"^ +readers: anyone$", shown, re.MULTILINE), "a line that continues another one has no address"
    assert re.search(r"^  - acme/site/docs/section/api +delete", shown, re.MULTILINE)


def test_the_environment_of_this_process_is_not_that_of_the_projects(fleet: Cli) -> None:
    path = "orgs/acme/reconciler.yaml"
    fleet.write(path, (fleet.root / path).read_text().replace("organizations:", "vars: {name: {default: plain}}\norganizations:", 1))
    commit(fleet)
    git(fleet.root, "branch", "-f", "main")
    fleet.edit(path, "title: Acme guides", 'title: "${{ vars.name }} guides"')
    commit(fleet)
    words = ("fleet", "preview", "fleet.yaml", "--from", "main")
    document = fleet.json_of(*words, env={"RECONCILER_VAR_NAME": "c4n4ry"})
    assert "c4n4ry" not in json.dumps(document)
    assert document["groups"][0]["plan"]["changes"][0]["fields"][0]["after"] == "plain guides"


def test_live_shows_the_last_readings_and_projects_that_only_the_fleet_knows(fleet: Cli, database: FleetDatabase, fleet_url: str) -> None:
    fleet("fleet", "apply", "fleet.yaml", "--database", fleet_url, code=0)
    edit(fleet, "acme", "title")
    commit(fleet)
    document = preview(fleet, "--live", "--database", fleet_url)
    reading = {"project": "acme", "status": "Unknown", "health": "Unknown", "at": None, "says": ["it was never read"]}
    assert document["readings"] == [reading]
    shown = fleet("fleet", "preview", "fleet.yaml", "--from", "main", "--live", "--database", fleet_url).stdout
    assert "Unknown: acme (acme: it was never read)" in shown


def test_organizations_that_the_fleet_listed_are_planned_also_if_their_generator_gets_another_number(
    fleet: Cli, fleet_url: str, database: FleetDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = {
        "organizations": [{"id": f"org_{name}", "title": name.title()} for name in NAMES],
        "members": [{"organization": f"org_{name}", "id": "usr_ada", "email": "a@x.example", "role": "admin"} for name in NAMES],
        "tokens": [{"token": "tok_ada_0123456789", "member": "usr_ada"}],
    }
    text = PROJECT.format(name="org", title="Org").replace("project: org-docs\n", "project: docs-${{ vars.id }}\nvars: {id: {}}\n")
    fleet.write("shared/reconciler.yaml", text.replace("id: org_org", 'id: "${{ vars.id }}"'))
    generator = '  - organizations: {}\n    template: {name: "${{ each.id }}", project: "docs-*", vars: {id: "${{ each.id }}"},\n'
    generator += "      source: {path: shared}}\n"
    with embedded(tmp_path / "sandbox.db", seed=seed) as service:
        monkeypatch.setenv("ACME_TOKEN", service.token)
        start = FLEET.format(root=fleet.root).replace("https://api.example.com", service.base_url).partition("  - directories")[0]
        fleet.write("fleet.yaml", start + generator)
        commit(fleet)
        git(fleet.root, "branch", "-f", "main")
        fleet("fleet", "apply", "fleet.yaml", "--database", fleet_url, code=0)
    fleet.edit("shared/reconciler.yaml", "title: API, duplicateOf", "title: Reference, duplicateOf")
    more = '  - list: [hooli]\n    template: {name: "${{ each.value }}", project: acme-docs, source: {path: orgs/acme}}\n'
    fleet.write("fleet.yaml", start + more + generator)
    commit(fleet)
    document = preview(fleet, "--live", "--database", fleet_url)
    assert groups(document) == [([f"org_{name}" for name in NAMES], "changing")]
    assert (document["appear"], document["vanish"]) == (["hooli"], [])
    fleet.edit("fleet.yaml", "source: {path: shared}", "source: {path: orgs/acme}")
    commit(fleet)
    changed = "generator 2 (organizations): the new fleet file changes its template or defaults. Its projects are shown without that."
    assert changed in preview(fleet, "--live", "--database", fleet_url)["notes"]
