"""What a good project becomes: resources, their values in the written form, and what belongs to the run.

Whatever stands in the files, `load` answers with a project or with `ConfigError`, and quickly.

A broken project is answered with every problem at once, each at its place, and never with a traceback or a long wait.
`file()` reads texts of the project and nothing else, under whatever name.

The YAML names the server of a state so that everybody sees which it is, and nothing else that decides where a password goes."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from reconciler.address import Address
from reconciler.config import Project, load
from reconciler.config.language.expressions import ExpressionError
from reconciler.config.language.files import ProjectFiles
from reconciler.config.source.state_url import mistake
from reconciler.errors import ConfigError, Problem
from reconciler.kinds import load as kinds
from reconciler.model import Declared, Guards, Moved, Removed, Source
from reconciler.resource import UNSET, Foreign
from tests.cage import MEMORY, SECONDS, fresh
from tests.config.corpus import BROKEN, GOOD, loaded, options, problems_of
from tests.effort import timed, within
from tests.proofs import costly, sampled, spread, tries

HEAD = """\
version: 1
project: test
organizations:
  acme:
    id: org_acme
"""
BLANK = """\
content:
  - {space: blank, id: spc_blank, title: Blank}
  - {space: guides, title: Guides, duplicateOf: blank}
  - {space: api, title: API, duplicateOf: blank}
"""


def at(text: str) -> Address:
    return Address.parse(text)


@pytest.fixture(scope="module")
def tour() -> Project:
    """The project that uses every word of the language."""
    return loaded(next(project for project in GOOD if project.name == "tour"))


def one(project: Project, address: str) -> Declared:
    return project.desired.resources[at(address)]


def project(folder: Path, body: str, *, head: str = HEAD, **options: Any) -> Project:
    """A project with one organization that holds `body`."""
    folder.mkdir(parents=True, exist_ok=True)
    text = head + textwrap.indent(textwrap.dedent(body), "    ")
    (folder / "reconciler.yaml").write_text(text, encoding="utf-8")
    return load(folder, kinds(), **options)


@pytest.mark.parametrize("folder", GOOD, ids=lambda path: path.name)
def test_a_good_project_loads(folder: Path) -> None:
    assert problems_of(folder) == ""


# -- resources ---------------------------------------------------------------------------------------------------------------------


def test_containers_come_before_what_they_contain_and_maps_are_sorted_whatever_the_order_of_the_files(tour: Project) -> None:
    seen: set[Address] = set()
    for address, declared in tour.desired.resources.items():
        assert declared.parent is None or declared.parent in seen
        seen.add(address)
    names = [str(address) for address in tour.desired.resources]
    some = ["acme", "acme/space/blank", "acme/member/ada@acme.example", "acme/openapi/payments", "acme/site/docs", "acme/site/help"]
    assert [name for name in names if name in some] == some


def test_the_place_in_the_yaml_gives_container_parent_section_and_index(tour: Project) -> None:
    api = one(tour, "acme/site/docs/section/api")
    assert api.values["sectionGroup"] == at("acme/site/docs/group/reference")
    assert (api.parent, api.section, api.index) == (at("acme/site/docs/group/reference"), "structure", 0)
    nested = one(tour, "acme/collection/nested")
    assert nested.values["parent"] == at("acme/collection/product")
    assert (nested.section, nested.index) == ("content", 2)
    assert one(tour, "acme/site/help/site-space/api").index == 1


def test_a_text_field_takes_the_source_text(tour: Project, tmp_path: Path) -> None:
    assert one(tour, "acme").values["hostname"] == "404"
    assert one(tour, "acme/space/api-reference").values["title"] == "007"
    teams = project(tmp_path, "teams: {a: {title: 007}, b: {title: no}, c: {title: 1.10}, d: {title: 'null'}, e: {title: 2024-01-01}}")
    titles = [declared.values["title"] for declared in teams.desired.resources.values() if declared.kind == "team"]
    assert titles == ["007", "no", "1.10", "null", "2024-01-01"]


def test_an_unwritten_field_is_absent(tour: Project) -> None:
    assert set(one(tour, "acme/site/help").values) == {"title", "defaultSiteSpace"}


def test_values_are_in_the_order_of_the_declaration(tour: Project) -> None:
    for declared in tour.desired.resources.values():
        order = list(kinds()[declared.kind].fields)
        assert list(declared.values) == sorted(declared.values, key=order.index)


def test_a_bare_value_stands_for_the_field_the_kind_names(tour: Project) -> None:
    assert one(tour, "acme/member/ada@acme.example").values == {"email": "ada@acme.example", "role": "admin"}


CLAIMS: Mapping[str, Mapping[tuple[str, str], Any]] = {
    "null clears where the service can clear": {
        ("acme", "logo"): None,
        ("acme/site/docs", "proxy"): None,
        ("acme/site/docs/section/api", "condition"): None,
    },
    "a node that can be nested always names its parent": {
        ("acme/space/blank", "parent"): None,
        ("acme/site/docs/section/guides", "sectionGroup"): None,
        ("acme/site/help/site-space/guides", "section"): None,
        ("acme/site/docs", "section"): UNSET,
    },
    "a key that is a field is spelled as the field spells it": {
        ("acme/member/linus@acme.example", "email"): "linus@acme.example",
        ("acme/openapi/payments", "slug"): "payments",
    },
    "the flag on a child is the choice of the nearest that chooses": {
        ("acme/site/docs", "defaultSiteSection"): at("acme/site/docs/section/guides"),
        ("acme/site/docs/section/guides", "defaultSiteSpace"): at("acme/site/docs/site-space/guides"),
        ("acme/site/help", "defaultSiteSpace"): at("acme/site/help/site-space/api"),
        ("acme/site/docs", "defaultSiteSpace"): UNSET,
    },
    "an unordered value is a sorted tuple": {
        ("acme/team/writers", "members"): (at("acme/member/grace@acme.example"), at("acme/member/linus@acme.example")),
        ("acme", "emailDomains"): ("acme.example", "acme.test"),
    },
    "things outside the project are named by id": {
        ("acme/space/guides", "duplicateOf"): Foreign("spc_elsewhere"),
        ("acme/site/docs/site-space/outside", "space"): Foreign("spc_far"),
    },
    "a site space is called like its space unless it has a key": {
        ("acme/site/docs/site-space/guides-v1", "space"): at("acme/space/guides-archive"),
        ("acme/site/docs/site-space/guides", "space"): at("acme/space/guides"),
    },
    "defaults reach what is not written and seeds only what is made": {
        ("acme/space/guides-archive", "duplicateOf"): at("acme/space/blank"),
        ("acme/space/guides-archive", "editMode"): "locked",
        ("acme/space/api-reference", "editMode"): "live",
        ("acme/space/blank", "duplicateOf"): UNSET,
        ("acme/space/blank", "editMode"): "locked",
    },
}
"""By claim, the values of fields in the tour; UNSET where a field is absent."""


@pytest.mark.parametrize("claim", CLAIMS)
def test_values_of_the_tour(claim: str, tour: Project) -> None:
    assert {(address, name): one(tour, address).values.get(name, UNSET) for address, name in CLAIMS[claim]} == CLAIMS[claim]


def test_a_flag_inside_a_group_is_the_choice_of_the_site(tmp_path: Path) -> None:
    result = project(
        tmp_path,
        BLANK
        + """\
sites:
  docs:
    title: Docs
    structure:
      - group: outer
        title: Outer
        structure:
          - group: inner
            title: Inner
            structure:
              - {section: guides, title: Guides, default: true, spaces: [guides]}
""",
    )
    assert one(result, "acme/site/docs").values["defaultSiteSection"] == at("acme/site/docs/section/guides")
    assert one(result, "acme/site/docs/section/guides").values["sectionGroup"] == at("acme/site/docs/group/inner")


def test_the_first_child_creates_its_container(tour: Project, tmp_path: Path) -> None:
    assert one(tour, "acme/site/docs/section/guides").values["spaceId"] == at("acme/space/guides")
    empty = project(tmp_path, "sites: {docs: {title: Docs, structure: [{section: one, title: One, spaces: []}]}}")
    assert "spaceId" not in one(empty, "acme/site/docs/section/one").values
    outside = project(
        tmp_path, "sites: {docs: {title: Docs, structure: [{section: one, title: One, spaces: [{key: x, space: {id: s1}}]}]}}"
    )
    assert one(outside, "acme/site/docs/section/one").values["spaceId"] == Foreign("s1")


def test_reserved_words_reach_the_resource(tour: Project) -> None:
    reviewers = one(tour, "acme/team/reviewers")
    assert (reviewers.previously, reviewers.adopt, reviewers.protect) == ((at("acme/team/editors"),), False, True)
    assert one(tour, "acme/space/blank").id == "spc_blank"
    assert one(tour, "acme/space/guides-archive").protect is False
    assert one(tour, "acme/team/writers").protect is None


def test_a_resource_and_its_values_know_where_they_are_written(tour: Project) -> None:
    guides = one(tour, "acme/site/docs/section/guides")
    assert guides.source == Source("sites/docs.yaml", 13, 9)
    assert guides.positions["title"] == Source("sites/docs.yaml", 15, 16)
    assert one(tour, "acme/space/guides").positions["editMode"] == Source("reconciler.yaml", 23, 41)  # given by defaults


# -- references --------------------------------------------------------------------------------------------------------------------


def test_references_are_addresses_anywhere_in_a_value(tour: Project) -> None:
    acme = one(tour, "acme").values
    assert acme["defaultContent"] == {"type": "site", "site": at("acme/site/docs")}
    assert acme["mergeRules"]["rules"][0]["users"] == [at("acme/member/ada@acme.example")]
    assert one(tour, "acme/saml/okta").values["defaultTeam"] == at("acme/team/writers")


def test_a_member_that_is_only_referenced_is_implied_once_and_last(tour: Project) -> None:
    implied = [declared for declared in tour.desired.resources.values() if declared.implied]
    assert [str(declared.address) for declared in implied] == ["acme/member/grace@acme.example"]
    assert implied[0].values == {"email": "grace@acme.example"}
    assert (implied[0].parent, implied[0].section) == (at("acme"), "members")
    assert list(tour.desired.resources)[-1] == implied[0].address


def test_a_default_is_looked_up_in_each_organization() -> None:
    result = loaded(next(project for project in GOOD if project.name == "two-organizations"))
    assert one(result, "acme/space/guides").values["duplicateOf"] == at("acme/space/blank")
    assert one(result, "umbrella/space/guides").values["duplicateOf"] == at("umbrella/space/blank")


# -- the run -----------------------------------------------------------------------------------------------------------------------


def test_written_names_every_section_of_the_yaml(tour: Project, tmp_path: Path) -> None:
    written = {(str(address), kind) for address, kind in tour.desired.written}
    assert {("acme", "team"), ("acme", "space"), ("acme", "collection"), ("acme/site/docs", "share-link")} <= written
    assert ("acme/site/help", "share-link") not in written
    assert {("acme/site/help", "section"), ("acme/site/help", "site-space")} <= written
    assert project(tmp_path, "teams: {}\ncontent: []").desired.written == {
        (at("acme"), "team"),
        (at("acme"), "space"),
        (at("acme"), "collection"),
    }


def test_prune_and_protect_hold_every_kind_and_its_default(tour: Project, tmp_path: Path) -> None:
    assert (tour.desired.prune["team"], tour.desired.prune["member"]) == ("all", "none")
    assert set(tour.desired.prune) == set(kinds())
    assert tour.desired.protect == {"space", "saml"}
    assert project(tmp_path, "").desired.protect == {"space", "collection", "site", "saml", "integration"}


def test_guards_moved_and_removed_are_read(tour: Project) -> None:
    assert tour.desired.guards == Guards(max_delete_percent=12.5, max_delete_at_least=7, min_admins=2)
    assert tour.desired.moved == (Moved(at("acme/space/old-key"), at("acme/space/guides"), Source("reconciler.yaml", 45, 12)),)
    wiki = at("acme/space/legacy-wiki")
    assert tour.desired.removed == {wiki: Removed(wiki, "forget", Source("reconciler.yaml", 43, 15))}


def test_settings_are_what_the_project_file_says(tour: Project) -> None:
    settings = tour.settings
    assert (settings.project, settings.base_url, settings.sandbox) == ("acme-docs", "https://api.example.com", None)
    assert (settings.timeout, settings.settle, settings.settle_written, settings.marks) == (12.5, 5.0, True, False)
    assert settings.state == f"sqlite:///{settings.root / 'local/state.db'}"
    assert settings.state_in_yaml
    assert [file.relative_to(settings.root).as_posix() for file in settings.files] == [
        "reconciler.yaml",
        "sites/docs.yaml",
        "sites/help.yaml",
        "people/people.yaml",
        "content.yaml",
    ]


def test_what_is_not_set_has_its_default(tmp_path: Path) -> None:
    settings = project(tmp_path, "").settings
    assert (settings.timeout, settings.settle, settings.settle_written, settings.marks) == (30.0, 30.0, False, False)
    assert settings.state == f"sqlite:///{tmp_path / '.reconciler/state.db'}"
    assert not settings.state_in_yaml
    assert (settings.base_url, settings.member) == (None, None)


def test_the_path_of_the_sandbox_begins_at_the_project(tmp_path: Path) -> None:
    result = project(
        tmp_path, "", head="version: 1\nproject: p\nservice: {sandbox: .reconciler/s.db}\norganizations:\n  acme:\n    id: o\n"
    )
    assert result.settings.sandbox == tmp_path / ".reconciler/s.db"


def test_the_lister_is_the_owner_of_the_token(tour: Project, tmp_path: Path) -> None:
    assert tour.desired.lister == at("acme/member/ada@acme.example")
    result = project(tmp_path, "", head=HEAD.replace("organizations", "service: {member: Grace@acme.example}\norganizations"))
    assert result.desired.lister == at("acme/member/grace@acme.example")
    assert one(result, "acme/member/grace@acme.example").implied
    assert project(tmp_path, "").desired.lister is None


def test_a_project_file_can_be_named_itself(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(HEAD, encoding="utf-8")
    assert list(load(tmp_path / "other.yaml", kinds()).desired.resources) == [at("acme")]


def test_a_folder_without_a_project_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"reconciler\.yaml does not exist here"):
        load(tmp_path, kinds())


# -- variables ---------------------------------------------------------------------------------------------------------------------


def test_the_command_line_wins_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    head = HEAD.replace("organizations", "vars: {name: {default: Acme, env: RECONCILER_VAR_NAME}}\norganizations")
    body = "title: ${{ vars.name }}"
    environ = {"RECONCILER_VAR_NAME": "Umbrella"}
    assert one(project(tmp_path, body, head=head), "acme").values["title"] == "Acme"
    assert one(project(tmp_path, body, head=head, environ=environ, public=["name"]), "acme").values["title"] == "Umbrella"
    both = project(tmp_path, body, head=head, environ=environ, variables={"name": "Initech"})
    assert one(both, "acme").values["title"] == "Initech"
    assert both.sensitive == frozenset()


def test_values_from_the_environment_are_masked_unless_they_are_public(tour: Project) -> None:
    assert tour.sensitive == {"hunter2"}


def test_a_variable_without_a_type_has_that_of_its_default(tmp_path: Path) -> None:
    head = HEAD.replace("organizations", "vars: {on: {default: true}, word: {default: Acme}}\norganizations")
    result = project(tmp_path, "sso: ${{ vars.on }}\ntitle: ${{ vars.word }}", head=head, variables={"on": "false", "word": "12"})
    assert one(result, "acme").values == {"title": "12", "sso": False}


def test_a_whole_expression_may_be_a_section(tmp_path: Path) -> None:
    (tmp_path / "teams.json").write_text('{"writers": {"title": "Writers"}}', encoding="utf-8")
    assert one(project(tmp_path, 'teams: ${{ json(file("teams.json")) }}'), "acme/team/writers").values == {"title": "Writers"}


def test_a_file_has_one_text_whatever_line_ends_git_checked_it_out_with(tmp_path: Path) -> None:
    titles = []
    for text in (b"Acme\nDocs\n", b"Acme\r\nDocs\r\n"):
        (tmp_path / "title.txt").write_bytes(text)
        titles.append(one(project(tmp_path, 'title: ${{ file("title.txt") | replace("\\n", "-") }}'), "acme").values["title"])
    assert titles == ["Acme-Docs-", "Acme-Docs-"]


# -- the digest --------------------------------------------------------------------------------------------------------------------


def test_the_digest_knows_content_and_not_layout(tmp_path: Path) -> None:
    plain = project(tmp_path, "teams: {writers: {title: Writers, members: [a@b.c, d@b.c]}}").digest
    assert plain == project(tmp_path, "\n\n# a comment\nteams:\n  writers:\n    members: [d@b.c, a@b.c]\n    title: Writers\n").digest
    assert len(plain) == 64


def test_the_digest_changes_with_what_is_declared(tmp_path: Path) -> None:
    bodies = [BLANK, BLANK.replace("Guides,", "Guide,"), BLANK.replace("spc_blank", "spc_b"), BLANK + "teams: {}\n"]
    lines = BLANK.splitlines(keepends=True)
    bodies.append("".join([lines[0], lines[2], lines[1], lines[3]]))
    assert len({project(tmp_path, body).digest for body in bodies}) == len(bodies)


# -- files -------------------------------------------------------------------------------------------------------------------------


def problems(caught: pytest.ExceptionInfo[ConfigError]) -> list[str]:
    return [problem.message for problem in caught.value.problems]


def test_an_included_link_that_leaves_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.yaml").write_text("teams: {}\n", encoding="utf-8")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "linked.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    with pytest.raises(ConfigError) as caught:
        project(folder, "", head=HEAD.replace("organizations", "include: ['*.yaml']\norganizations"))
    assert problems(caught) == ['include "*.yaml" is outside the project: linked.yaml is a link']


def test_an_included_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "people.yaml").write_text("teams: {writers: {title: Writers}}\n", encoding="utf-8")
    (tmp_path / "linked.yaml").symlink_to(tmp_path / "real" / "people.yaml")
    result = project(tmp_path, "", head=HEAD.replace("organizations", "include: [linked.yaml]\norganizations"))
    assert one(result, "acme/team/writers").source.file == "linked.yaml"


def test_hidden_files_and_the_seed_of_the_sandbox_are_never_included(tmp_path: Path) -> None:
    for name in (".hidden.yaml", "sandbox.seed.yaml", "reconciler.yaml"):
        (tmp_path / name).write_text("nonsense: true\n", encoding="utf-8")
    (tmp_path / "people.yaml").write_text("teams: {}\n", encoding="utf-8")
    result = project(tmp_path, "", head=HEAD.replace("organizations", "include: ['*.yaml', people.yaml]\norganizations"))
    assert [file.name for file in result.settings.files] == ["reconciler.yaml", "people.yaml"]


def test_file_gives_out_neither_state_nor_sandbox(tmp_path: Path) -> None:
    for name in ("state.txt", "sandbox.txt"):
        (tmp_path / name).write_text("secret", encoding="utf-8")
    head = HEAD.replace("organizations", "state: sqlite:///state.txt\nservice: {sandbox: sandbox.txt}\norganizations")
    with pytest.raises(ConfigError) as caught:
        project(tmp_path, 'title: ${{ file("state.txt") }}\nhostname: ${{ file("sandbox.txt") }}', head=head)
    assert problems(caught) == [
        'file("state.txt") is the database of a state or a sandbox, which is not allowed',
        'file("sandbox.txt") is the database of a state or a sandbox, which is not allowed',
    ]


def test_many_expressions_are_bounded_together(tmp_path: Path) -> None:
    teams = "".join(f"  team{number}: {{title: \"${{{{ 'x' * 1000000 }}}}\"}}\n" for number in range(200))
    with pytest.raises(ConfigError) as caught:
        project(tmp_path, f"teams:\n{teams}")
    assert any(
        one.endswith("the expressions of this project exceed the limit for evaluation, including this one") for one in problems(caught)
    )


def test_what_seems_absent_is_not_reported_where_a_file_could_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "content.yaml").write_text("content: [\n", encoding="utf-8")
    head = HEAD.replace("organizations", "include: [content.yaml]\norganizations")
    with pytest.raises(ConfigError) as caught:
        project(tmp_path, "sites: {docs: {title: Docs, structure: [guides]}}", head=head)
    assert [problem.file for problem in caught.value.problems] == ["content.yaml"]


def test_a_variable_without_a_value_is_reported_once_and_not_where_it_is_used(tmp_path: Path) -> None:
    head = HEAD.replace("organizations", "vars: {brand: {type: string}}\norganizations")
    with pytest.raises(ConfigError) as caught:
        project(tmp_path, "title: ${{ vars.brand }} docs\nhostname: ${{ vars.brand }}", head=head)
    assert len(caught.value.problems) == 1


def test_equal_projects_give_equal_results(tour: Project) -> None:
    again = loaded(next(folder for folder in GOOD if folder.name == "tour"))
    assert again == tour
    assert list(again.desired.resources) == list(tour.desired.resources)


@costly
def test_ten_times_the_resources_take_about_ten_times_as_long(tmp_path: Path) -> None:
    def make(count: int) -> None:
        spaces = "".join(
            f"  - {{space: s{number}, title: Space {number}, duplicateOf: blank, editMode: live}}\n" for number in range(count)
        )
        result = project(tmp_path / str(count), f"content:\n  - {{space: blank, id: spc_blank, title: Blank}}\n{spaces}")
        assert len(result.desired.resources) == count + 2

    make(10)
    thousand = min(timed(lambda: make(1_000))[0] for _ in range(3))
    within(30 * thousand, lambda: make(10_000))  # 10 where it grows as it should, 100 where it grows with the square


TOUR = next(project for project in GOOD if project.name == "tour")
FILES = sorted(file.relative_to(TOUR).as_posix() for file in TOUR.rglob("*.yaml"))
SCRAPS = [
    *("", " ", "\n", "\t", ":", ": ", "- ", "{", "}", "[", "]", "[]", "{}", "'", '"', "|", ">", "#", "---\n"),
    *("&a ", "*a", "*shared", "!!int ", "<<: ", "null", "~", "true", "007", "1e999", ".nan", "9" * 50, "x" * 300),
    *("${{", "}}", "${{ vars.brand }}", "${{ vars.nothing }}", "${{ 1 / 0 }}", "${{ vars }}"),
    *("id: ", "key: ", "space: guides", "default: true", "forEach: ", "previously: [a]", "organization: acme\n", "../x"),
    *("\u2028", "\ufeff", "\x00", "\u202e", "é"),
]
EDITS = st.lists(
    st.tuples(st.sampled_from(FILES), st.integers(0, 2000), st.integers(0, 40), st.sampled_from(SCRAPS)), min_size=1, max_size=4
)
SECONDS_MAX = 2.0


def found(folder: Path) -> tuple[Problem, ...]:
    """The problems of a project; one without a place where an error tells of none."""
    try:
        load(folder, kinds(), **options(TOUR))
    except ConfigError as error:
        return error.problems or (Problem("", 0, 0, "an error without a problem", id="RC-no-project"),)
    return ()


@sampled
@settings(max_examples=tries(250, 50), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(edits=EDITS)
def test_an_edited_project_never_gives_a_traceback(edits: list[tuple[str, int, int, str]], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(TOUR, folder)
    for name, start, length, scrap in edits:
        file = folder / name
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
        start %= len(text) + 1
        file.write_text(text[:start] + scrap + text[start + length :], encoding="utf-8", errors="surrogateescape", newline="")
    problems = within(SECONDS_MAX, lambda: found(folder))
    assert [problem for problem in problems if not problem.file or "\n" in str(problem)] == []
    placeless = [problem for problem in problems if problem.file in FILES and not problem.line]
    assert [problem for problem in placeless if problem.message != "this file is empty"] == []


LIMITED = f"""
import resource
from pathlib import Path
from tests.config.corpus import problems_of
from tests.effort import within
projects = [Path(name) for name in {[str(project) for project in BROKEN]!r}]
problems_of(projects[0])  # what is imported once is not the project's cost
resource.setrlimit(resource.RLIMIT_DATA, ({MEMORY}, {MEMORY}))
for project in projects:
    assert within({SECONDS}, lambda: problems_of(project)), project
"""


def test_the_corpus_is_large_enough_to_mean_something() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("project", spread(BROKEN, 60), ids=lambda path: path.name)
def test_a_broken_project_prints_exactly_its_problems(project: Path) -> None:
    assert problems_of(project) == (project / "expected.txt").read_text(encoding="utf-8")


@costly
def test_no_broken_project_takes_more_than_two_seconds_or_a_quarter_of_a_gigabyte() -> None:
    fresh(LIMITED)


WHOLE_FILE = ("--", "environments/", "missing", "reconciler.yaml  this file is empty")  # what has no line to stand at


def test_every_expected_problem_has_a_place() -> None:
    lines = [line for project in BROKEN for line in (project / "expected.txt").read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if not line.startswith(WHOLE_FILE) and line.split("  ")[0].count(":") != 2] == []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "certs").mkdir(parents=True)
    (project / "certs" / "okta.pem").write_text("PEM\n")
    (project / ".reconciler").mkdir()
    (project / ".reconciler" / "state.db").write_text("state")
    (project / ".env").write_text("TOKEN=1")
    (project / "state.db").write_text("state")
    (project / "state.db-wal").write_text("state")
    (tmp_path / "outside").write_text("outside")
    return project


def reading(root: Path, path: str) -> str:
    with pytest.raises(ExpressionError) as raised:
        ProjectFiles(root, [root / "state.db"])(path)
    return raised.value.message


def test_a_file_of_the_project_is_read_with_the_line_ends_of_every_checkout(root: Path) -> None:
    (root / "crlf").write_bytes("é\r\n".encode())
    files = ProjectFiles(root)
    assert (files("certs/okta.pem"), files("crlf")) == ("PEM\n", "é\n")
    (root / "link").symlink_to("certs/okta.pem")
    assert files("link") == "PEM\n"


BELOW = "is not a path inside the project; write it relative to the project file, with /"
DOTS = "has a part that is empty or begins with a dot, which is not allowed"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", BELOW),
        ("~/x", BELOW),
        ("C:/x", BELOW),
        ("a\\b", BELOW),
        ("a\0", BELOW),
        ("./certs/okta.pem", DOTS),
        (".env", DOTS),
        (".reconciler/state.db", DOTS),
        ("certs//okta.pem", DOTS),
    ],
)
def test_a_path_that_could_lead_elsewhere_is_refused(root: Path, path: str, why: str) -> None:
    assert reading(root, path) == f'file("{path}") {why}'


def test_a_file_that_is_not_a_text_of_the_project_is_refused(root: Path) -> None:
    (root / "out").symlink_to("../outside")
    (root / "folder").symlink_to("..")
    (root / "hidden").symlink_to(".env")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "bytes").write_bytes(b"\xff")
    (root / "large").write_bytes(b"a" * (2**20 + 1))
    os.link(root / "state.db", root / "hard")
    (root / "soft").symlink_to("state.db")
    assert reading(root, "nope") == 'file("nope"): no such file in the project'
    assert reading(root, "hidden") == 'file("hidden") is a link to a hidden file, which is not allowed'
    assert reading(root, "loop").startswith('file("loop") cannot be read: ')
    assert reading(root, "pipe") == 'file("pipe") is not a text file'
    assert reading(root, "certs") == 'file("certs") is not a text file'
    assert reading(root, "bytes") == 'file("bytes") is not UTF-8'
    assert reading(root, "large") == 'file("large") is larger than 1 MiB'
    assert reading(root, "x" * 5000).startswith(f'file("{"x" * 59}…") cannot be read: ')
    for name in ("state.db", "state.db-wal", "hard", "soft"):
        assert reading(root, name) == f'file("{name}") is the database of a state or a sandbox, which is not allowed'


# -- outside the project -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "how"),
    [
        ("/etc/passwd", "is outside the project"),
        ("../outside", "is outside the project"),
        ("../absent", "is outside the project"),
        ("certs/../../outside", "is outside the project"),
        ("out", "is a link to a file outside the project"),
        ("folder/outside", "is a link to a file outside the project"),
    ],
)
def test_a_file_outside_is_refused_with_the_option_that_allows_it(root: Path, path: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "out").symlink_to("../outside")
    (root / "folder").symlink_to("..")
    monkeypatch.chdir(root)
    message = reading(root, path)
    assert message.startswith(f'file("{path}") {how}; to allow it, pass --allow-file ')
    option = Path(message.rpartition(" ")[2])
    assert option.resolve() == (root / path).resolve()
    if "absent" not in path:
        assert ProjectFiles(root, allowed=[option])(path)


def test_a_folder_allows_what_is_in_it_and_nothing_hidden_or_beside_it(root: Path) -> None:
    shared = root.parent / "shared"
    (shared / "deep").mkdir(parents=True)
    (shared / "deep" / "okta.pem").write_text("PEM")
    (shared / ".env").write_text("TOKEN=1")
    (shared / "out").symlink_to("../outside")
    (root.parent / "shared-too").write_text("beside")
    (root / "link").symlink_to("../shared/deep")
    files = ProjectFiles(root, [root / "state.db"], allowed=[shared])
    assert (files("../shared/deep/okta.pem"), files(f"{shared}/deep/okta.pem"), files("link/okta.pem")) == ("PEM", "PEM", "PEM")
    for path, message in {
        "../shared/.env": "is hidden in a folder that is allowed; to allow it too, pass --allow-file ",
        "../shared/out": "is outside the project; to allow it, pass --allow-file ",
        "../shared-too": "is outside the project; to allow it, pass --allow-file ",
        "../shared/nope": "no such file",
        "../project/certs/okta.pem": "is inside the project; write it relative to the project file: certs/okta.pem",
        "../project/.env": "is inside the project; write it relative to the project file: .env",
    }.items():
        with pytest.raises(ExpressionError, match=re.escape(message)):
            files(path)
    assert ProjectFiles(root, allowed=[shared / ".env"])("../shared/.env") == "TOKEN=1"


def test_the_state_is_not_given_out_where_its_folder_is_allowed(root: Path) -> None:
    os.link(root / "state.db", root.parent / "copy")
    with pytest.raises(ExpressionError, match="the database of a state or a sandbox"):
        ProjectFiles(root, [root / "state.db"], allowed=[root.parent])("../copy")


ACCEPTED = [
    "postgresql://db.example/reconciler",
    "postgresql+psycopg://ada@db.example:5432/reconciler?sslmode=verify-full&sslrootcert=certs/root.crt",
    "postgresql://[::1]:5432/x?application_name=docs&connect_timeout=5",
    "postgresql:///reconciler",
    "s3://acme-states/handbook?region=eu-central-1",
]


@pytest.mark.parametrize("url", ACCEPTED)
def test_a_plain_url_is_accepted(url: str) -> None:
    assert mistake(url) is None


@pytest.mark.parametrize(
    "key",
    [
        "hostaddr", "service", "passfile", "host", "port", "user", "dbname", "options", "sslcert", "sslkey", "sslpassword", "requirepeer",
        "SSLMODE", "Hostaddr", "servicefile", "krbsrvname", "sslnegotiation", "target_session_attrs", "load_balance_hosts", "sslcrl",
        "%68ostaddr", "gssencmode",
    ],
)  # fmt: skip
def test_another_setting_is_refused_by_its_name(key: str) -> None:
    for query in (f"{key}=evil.example", f"sslmode=verify-full&{key}=evil.example", f"{key}="):
        problem = mistake(f"postgresql://db.example/x?{query}")
        assert problem is not None
        if key == "sslpassword":
            assert problem.id == "RC-state-password"
        else:
            assert problem.id == "RC-state-url-key"
            assert problem.message.startswith(f'state sets "{key.replace("%68", "h")}", which is not allowed in the YAML; one of sslmode, ')
            assert problem.message.endswith("set the whole URL in RECONCILER_STATE, or pass it as --state")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example,evil.example/x",
        "postgresql://db.example:5432,evil.example:5432/x",
        "postgresql://db.example@evil.example@x/y",
        "postgresql://a%40db.example@evil.example/x",
        "postgresql://%2Ftmp%2Fevil/x",
        "postgresql://db.example\\@evil.example/x",
        "postgresql://db.example/x/../y",
        "postgresql://db.example/x?sslmode=verify-full#?hostaddr=1.2.3.4",
        "postgresql://db.example/x%3Fhostaddr=1.2.3.4",
        "postgresql://db.example/host=evil.example",
        "postgresql://db.example/x?sslmode=verify-full;hostaddr=1.2.3.4",
        "postgresql://db.ex\nample/x",
        "postgresql://db.example/x?sslmode=verify%2Dfull",
        "postgresql://dаtabase.example/x",
        "postgresql+psycopg2://db.example/x",
    ],
)
def test_what_programs_could_read_differently_is_refused(url: str) -> None:
    problem = mistake(url)
    assert problem is not None
    assert problem.id == "RC-state-url"


def test_a_setting_is_written_once() -> None:
    problem = mistake("postgresql://db.example/x?sslmode=verify-full&sslmode=disable")
    assert problem is not None
    assert problem.message == "state sets sslmode twice; remove one of them"
