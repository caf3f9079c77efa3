"""A key under another name, everywhere."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from reconciler.address import Address
from reconciler.config import load
from reconciler.errors import ConfigError, Refused
from reconciler.features.edits.difference import difference
from reconciler.features.edits.names import names_of
from reconciler.features.edits.rename import check_renamable, renamed
from reconciler.features.edits.texts import ProjectTexts, project_texts
from reconciler.features.urls.redirects.formats import COLUMNS
from reconciler.model import Desired
from tests.harness import kinds
from tests.organizations import project

HEAD = "version: 1\nproject: test\nservice: {member: ada@acme.example}\n"
ORGANIZATION = """\
organizations:
  acme:
    id: org_acme
    teams:
      writers: {title: Writers}   # who writes
    content:
      - {space: blank, id: spc_blank, title: Blank}
      # The guides.
      - space: guides
        title: Guides
        duplicateOf: blank
      - {space: copy, title: Copy, duplicateOf: guides}
    sites:
      docs:
        title: Docs
        structure:
          - section: start
            title: Start
            spaces: [guides, {key: other, space: copy}]
        shareLinks:
          partners: {name: Partners, active: true}
"""


def written(root: Path, files: Mapping[str, str] | str, **more: str) -> ProjectTexts:
    files = {"reconciler.yaml": files} if isinstance(files, str) else files
    for name, text in {**files, **more}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return project_texts(root, kinds())


def changed_lines(texts: ProjectTexts, address: str, key: str) -> list[str]:
    """The lines that a rename writes, with their files where there are several."""
    lines = []
    for name, text in renamed(texts, Address.parse(address), key).items():
        before = texts.texts[name].split("\n")
        lines += [line.strip() for line in text.split("\n") if line not in before]
    return lines


def test_what_takes_its_key_from_a_space_follows_it(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    assert changed_lines(texts, "acme/space/guides", "manual") == [
        "- space: manual",
        "previously: [guides]",
        "- {space: copy, title: Copy, duplicateOf: manual}",
        "spaces: [manual, {key: other, space: copy}]",
    ]


def test_comments_and_order_are_unchanged(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    assert changed_lines(texts, "acme/team/writers", "authors") == ["authors: {title: Writers, previously: [writers]}   # who writes"]


def test_a_bare_site_space_gets_a_key_of_its_own(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    lines = changed_lines(texts, "acme/site/docs/site-space/guides", "main")
    assert lines == ["spaces: [{space: guides, key: main, previously: [guides]}, {key: other, space: copy}]"]


def test_a_key_that_is_taken_is_refused_with_its_line(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    with pytest.raises(Refused, match=r"cannot become acme/space/copy, which is declared at reconciler.yaml:15:10") as refused:
        renamed(texts, Address.parse("acme/space/guides"), "copy")
    assert "third key" in str(refused.value.hint)


def test_nothing_changes_if_it_is_the_key_already(tmp_path: Path) -> None:
    assert renamed(written(tmp_path, HEAD + ORGANIZATION), Address.parse("acme/space/guides"), "guides") == {}


# -- everything that names a resource ----------------------------------------------------------------------------------------------------

RULES = """\
defaults: {space: {duplicateOf: blank}}
access:
  - {as: {link: partners}, sees: [acme/space/guides, "acme/space/*"]}
  - {as: {link: acme/site/docs/share-link/partners}, mustNotSee: ["acme/site/docs/**"]}
policies:
  - {id: named, on: [team, acme/space/guides], assert: "${{ address != \\"acme/space/guides\\" or after.title }}", message: none}
exceptions:
  - {policy: named, address: acme/space/guides, until: 2099-01-01, reason: later}
lint: {ignore: [{id: space-on-no-site, address: acme/space/guides}]}
ignoreChanges: {acme/space/guides: [emoji], team: [title]}
health: {search: [{site: docs, query: install, finds: /**}, {site: acme/site/docs, query: api, finds: /**}]}
urls: {redirects: [nginx], sites: {docs: [netlify]}}
removed: [{address: acme/site/docs/section/gone, action: forget}]
moved: [{from: acme/site/docs/section/old, to: acme/site/docs/section/start}]
"""


def test_rules_and_settings_follow_a_space(tmp_path: Path) -> None:
    lines = changed_lines(written(tmp_path, HEAD + RULES + ORGANIZATION), "acme/space/guides", "manual")
    assert lines[:6] == [
        '- {as: {link: partners}, sees: [acme/space/manual, "acme/space/*"]}',
        '- {id: named, on: [team, acme/space/manual], assert: "${{ address != \\"acme/space/manual\\" or after.title }}", message: none}',
        "- {policy: named, address: acme/space/manual, until: 2099-01-01, reason: later}",
        "lint: {ignore: [{id: space-on-no-site, address: acme/space/manual}]}",
        "ignoreChanges: {acme/space/manual: [emoji], team: [title]}",
        "- space: manual",
    ]


def test_rules_and_settings_follow_a_site_with_everything_in_it(tmp_path: Path) -> None:
    lines = changed_lines(written(tmp_path, HEAD + RULES + ORGANIZATION), "acme/site/docs", "handbook")
    assert lines == [
        '- {as: {link: acme/site/handbook/share-link/partners}, mustNotSee: ["acme/site/handbook/**"]}',
        "health: {search: [{site: handbook, query: install, finds: /**}, {site: acme/site/handbook, query: api, finds: /**}]}",
        "urls: {redirects: [nginx], sites: {handbook: [netlify]}}",
        "removed: [{address: acme/site/handbook/section/gone, action: forget}]",
        "moved: [{from: acme/site/handbook/section/old, to: acme/site/handbook/section/start}]",
        "handbook:",
        "previously: [docs]",
    ]


def test_a_default_follows_and_a_share_link_is_known_by_its_key(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + RULES + ORGANIZATION)
    assert "defaults: {space: {duplicateOf: empty}}" in changed_lines(texts, "acme/space/blank", "empty")
    assert '- {as: {link: friends}, sees: [acme/space/guides, "acme/space/*"]}' in changed_lines(
        texts, "acme/site/docs/share-link/partners", "friends"
    )


def test_environments_follow_also_where_all_of_them_patch_a_value(tmp_path: Path) -> None:
    saml = "    saml:\n      okta: {label: O, entityID: e, ssoURL: https://o.example, certificate: x, defaultTeam: writers}\n"
    text = (HEAD + ORGANIZATION).replace("    content:\n", "      editors: {title: Editors}\n    content:\n", 1)
    provider = textwrap.dedent(saml).replace("certificate: x", 'certificate: "${{ vars.certificate }}"')
    patch = "{match: acme/saml/okta, set: {defaultTeam: editors}}"
    files = {
        "reconciler.yaml": text.replace(
            "organizations:", "vars: {certificate: {env: RECONCILER_VAR_C}}\ninclude: [saml.yaml]\norganizations:"
        ),
        "saml.yaml": provider,
        "environments/production.yaml": f"patch: [{patch}]\n",
        "environments/staging.yaml": f"organizations: {{acme: {{id: org_two}}}}\npatch:\n  - {patch}\n"
        "  - {match: acme/team/writers, remove: true}\n",
    }
    texts = written(tmp_path, files)
    lines = changed_lines(texts, "acme/team/writers", "authors")
    assert any("defaultTeam: authors" in line for line in lines)
    assert "- {match: acme/team/authors, remove: true}" in lines
    assert [line for line in changed_lines(texts, "acme/team/editors", "staff") if "match" in line] == [
        f"patch: [{patch.replace('editors', 'staff')}]",
        f"- {patch.replace('editors', 'staff')}",
    ]
    assert "organizations: {ax: {id: org_two}}" in changed_lines(texts, "acme", "ax")


def test_tests_follow_but_not_those_of_another_project(tmp_path: Path) -> None:
    files = {
        "reconciler.yaml": HEAD + ORGANIZATION,
        "tests/a.yaml": """\
            tests:
              - name: mine
                steps:
                  - {edit: {address: acme/site/docs/site-space/other, set: {space: copy}}, by: colleague}
                  - {api: {method: PATCH, path: "/spaces/{acme/space/copy}", body: {title: x}}}
                expect: [{field: acme/space/copy.title, is: acme/space/copy}, {blocked: "acme/space/c*"}, {url: /x, shows: acme/space/copy}]
              - {name: of another, with: {project: other.yaml}, expect: [{url: /x, shows: acme/space/copy}]}
        """,
    }
    texts = written(tmp_path, files)
    assert changed_lines(texts, "acme/space/copy", "clone")[-3:] == [
        "- {edit: {address: acme/site/docs/site-space/other, set: {space: clone}}, by: colleague}",
        '- {api: {method: PATCH, path: "/spaces/{acme/space/clone}", body: {title: x}}}',
        'expect: [{field: acme/space/clone.title, is: acme/space/clone}, {blocked: "acme/space/c*"}, {url: /x, shows: acme/space/clone}]',
    ]


def test_files_that_maps_and_lists_include_follow(tmp_path: Path) -> None:
    text = (
        HEAD
        + ORGANIZATION.partition("    content:\n")[0]
        + "    content: {include: parts/content.yaml}\n    sites: {include: [parts/sites.yaml]}\n"
    )
    content = "content:\n  - {space: blank, id: spc_blank, title: Blank}\n  - {space: guides, title: Guides, duplicateOf: blank}\n"
    sites = "sites:\n  docs: {title: Docs, structure: [guides]}\n"
    texts = written(tmp_path, {"reconciler.yaml": text, "parts/content.yaml": content, "parts/sites.yaml": sites})
    assert changed_lines(texts, "acme/space/guides", "manual") == [
        "- {space: manual, title: Guides, duplicateOf: blank, previously: [guides]}",
        "docs: {title: Docs, structure: [manual]}",
    ]


def test_an_alias_follows_its_anchor(tmp_path: Path) -> None:
    text = (HEAD + ORGANIZATION).replace("duplicateOf: guides", "duplicateOf: *it").replace("- space: guides", "- space: &it guides")
    lines = changed_lines(written(tmp_path, text), "acme/space/guides", "manual")
    assert lines == ["- space: &it manual", "previously: [guides]", "spaces: [manual, {key: other, space: copy}]"]


def test_line_breaks_and_a_byte_order_mark_are_kept(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION)
    other = texts.with_texts({"reconciler.yaml": "\ufeff" + (HEAD + ORGANIZATION).replace("\n", "\r\n")})
    plain = renamed(texts, Address.parse("acme/space/guides"), "manual")["reconciler.yaml"]
    assert renamed(other, Address.parse("acme/space/guides"), "manual")["reconciler.yaml"] == "\ufeff" + plain.replace("\n", "\r\n")


def test_a_text_that_nobody_saved_is_renamed(tmp_path: Path) -> None:
    written(tmp_path, HEAD + ORGANIZATION)
    unsaved = (HEAD + ORGANIZATION).replace("writers", "poets")
    texts = project_texts(tmp_path, kinds(), {"reconciler.yaml": unsaved})
    assert changed_lines(texts, "acme/team/poets", "bards") == ["bards: {title: Writers, previously: [poets]}   # who writes"]


@pytest.mark.parametrize(("key", "line"), [("true", '"true"'), ("007", '"007"'), ("a.b+c", "a.b+c"), ("-d", '"-d"')])
def test_a_key_that_yaml_would_read_as_something_else_is_quoted(tmp_path: Path, key: str, line: str) -> None:
    lines = changed_lines(written(tmp_path, HEAD + ORGANIZATION), "acme/space/guides", key)
    assert lines[0] == f"- space: {line}"


# -- the history of a name ---------------------------------------------------------------------------------------------------------------


def after(texts: ProjectTexts, *renames: tuple[str, str]) -> ProjectTexts:
    for address, key in renames:
        texts = texts.with_texts(renamed(texts, Address.parse(address), key))
    return texts


def team_lines(texts: ProjectTexts) -> list[str]:
    text = texts.texts["reconciler.yaml"]
    return [line.strip() for line in text.split("\n") if "Writers" in line or "Editors" in line or "from:" in line]


TEAMS = (HEAD + ORGANIZATION).replace("    content:\n", "      editors: {title: Editors}\n    content:\n", 1)


def test_renamed_twice_it_keeps_both_former_keys(tmp_path: Path) -> None:
    texts = after(written(tmp_path, TEAMS), ("acme/team/editors", "staff"), ("acme/team/staff", "people"))
    assert team_lines(texts)[1] == "people: {title: Editors, previously: [editors, staff]}"


def test_renamed_back_it_names_only_the_key_between(tmp_path: Path) -> None:
    texts = after(written(tmp_path, TEAMS), ("acme/team/editors", "staff"), ("acme/team/staff", "editors"))
    assert team_lines(texts)[1] == "editors: {title: Editors, previously: [staff]}"


def test_two_keys_are_swapped_by_three_renames(tmp_path: Path) -> None:
    texts = after(
        written(tmp_path, TEAMS), ("acme/team/editors", "third"), ("acme/team/writers", "editors"), ("acme/team/third", "writers")
    )
    assert team_lines(texts) == [
        "editors: {title: Writers, previously: [writers]}   # who writes",
        "writers: {title: Editors, previously: [editors, third]}",
    ]


def test_a_line_of_moved_leads_to_the_new_key_and_ends_with_the_former_one(tmp_path: Path) -> None:
    moved = "moved:\n  - {from: acme/team/authors, to: acme/team/editors}  # in May\n  - {from: acme/team/a, to: acme/team/writers}\n"
    texts = after(written(tmp_path, TEAMS + moved), ("acme/team/editors", "staff"))
    assert team_lines(texts)[2:] == [
        "- {from: acme/team/authors, to: acme/team/staff}  # in May",
        "- {from: acme/team/a, to: acme/team/writers}",
    ]
    back = after(texts, ("acme/team/staff", "authors"))
    assert team_lines(back)[1:] == [
        "authors: {title: Editors, previously: [editors, staff]}",
        "- {from: acme/team/a, to: acme/team/writers}",
    ]


def test_a_site_space_that_gets_the_key_of_its_space_follows_it_again(tmp_path: Path) -> None:
    texts = after(
        written(tmp_path, HEAD + ORGANIZATION),
        ("acme/site/docs/site-space/guides", "main"),
        ("acme/site/docs/site-space/main", "guides"),
        ("acme/space/guides", "manual"),
    )
    assert "spaces: [{space: manual, previously: [main, guides]}, {key: other, space: copy}]" in texts.texts["reconciler.yaml"]


# -- what is refused ---------------------------------------------------------------------------------------------------------------------

GENERATED = """\
vars:
  names: {type: list, default: [alpha, beta]}
  main: {default: guides}
"""


@pytest.mark.parametrize(
    ("head", "change", "address", "key", "says", "way"),
    [
        ("", ("", ""), "acme/space/nope", "x", "acme/space/nope is not declared", "declared address"),
        ("", ("", ""), "acme/space/guides", "a b", '"a b" is not a key', "another key"),
        ("", ("", ""), "acme/member/ada@acme.example", "x", "the key of a member is its email", "by hand"),
        ("", ("    teams:", "    agentInstructions: Hi\n    teams:"), "acme/agent-instructions", "x", "has no key", "what contains it"),
        (
            GENERATED,
            ("      - {space: copy", '      - {forEach: "${{ vars.names }}", space: "${{ each.key }}-x", title: T, duplicateOf: guides}\n'
             "      - {space: copy"),
            "acme/space/alpha-x", "x", 'element 0 ("alpha") of ${{ vars.names }}',
            "Change the element in vars.names at reconciler.yaml:5:3, used at reconciler.yaml:18:19 by hand, and add "
            "{from: acme/space/alpha-x, to: acme/space/x} to moved.",
        ),
        (
            GENERATED,
            ("duplicateOf: guides", 'duplicateOf: "${{ vars.main }}"'), "acme/space/guides", "x",
            "duplicateOf of acme/space/copy names acme/space/guides by an expression", "vars.main at reconciler.yaml:6:3",
        ),
        (
            'access: [{as: anyone, mustNotSee: ["acme/space/gui*"]}]\n', ("", ""), "acme/space/guides", "x",
            "access.mustNotSee at reconciler.yaml:4:37 is acme/space/gui*, which would not match the same resources", "addresses instead",
        ),
        (
            'policies: [{id: p, on: [space], assert: "${{ not address.endswith(\'/guides\') }}", message: m}]\n', ("", ""),
            "acme/space/guides", "x", "the policy p looks for /guides in addresses", "by hand at reconciler.yaml:4:12",
        ),
        (
            "",
            ("writers: {title: Writers}", "writers: {title: Writers, previously: [old, poets]}\n      poets: {title: P, previously: [x]}"),
            "acme/team/poets", "bards", "poets is also a former key of acme/team/writers at reconciler.yaml:8:51", "remove the former key",
        ),
        (
            "removed: [{address: acme/space/x, action: forget}]\n", ("", ""), "acme/space/guides", "x",
            "after the rename the project would not be valid: removed.address is acme/space/x, which is still declared",
            "reconciler.yaml:4:21",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_renamed_is_refused_with_its_line_and_the_way(
    tmp_path: Path, head: str, change: tuple[str, str], address: str, key: str, says: str, way: str
) -> None:
    texts = written(tmp_path, HEAD + head + ORGANIZATION.replace(*change, 1))
    with pytest.raises(Refused) as refused:
        renamed(texts, Address.parse(address), key)
    assert says in str(refused.value)
    assert way in str(refused.value.hint)


def test_what_can_have_no_other_key_is_known_before_a_key_is_chosen(tmp_path: Path) -> None:
    names = names_of(written(tmp_path, HEAD + ORGANIZATION))
    check_renamable(names, Address.parse("acme/space/guides"))
    with pytest.raises(Refused, match="its email"):
        check_renamable(names, Address.parse("acme/member/ada@acme.example"))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("acme/site/docs", "it is written elsewhere, and repeated here by an alias"),
        ("acme/site/docs/section/start", "names acme/site/help/section/start too, which keeps its key"),
        ("acme/site/docs/site-space/guides", "&site is repeated elsewhere"),
    ],
)
def test_lines_that_an_alias_repeats_for_others_are_not_changed_for_one(tmp_path: Path, address: str, says: str) -> None:
    site = "x-site: &site {title: Docs, structure: [{section: start, title: Start, spaces: [guides]}]}\n"
    text = HEAD + site + ORGANIZATION.partition("    sites:\n")[0] + "    sites: {docs: *site, help: *site}\n"
    with pytest.raises(Refused, match=says):
        renamed(written(tmp_path, text), Address.parse(address), "x")


def test_a_test_file_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    texts = written(tmp_path, {"reconciler.yaml": HEAD + ORGANIZATION, "tests/a.yaml": "tests: [{name: '${{ x }}"})
    assert renamed(texts, Address.parse("acme/team/writers"), "authors").keys() == {"reconciler.yaml"}


def test_a_literal_reference_in_a_template_is_renamed_for_all_its_elements(tmp_path: Path) -> None:
    node = '      - {forEach: [a, b], space: "${{ each.key }}-x", title: T, duplicateOf: guides}\n      - {space: copy'
    lines = changed_lines(written(tmp_path, HEAD + ORGANIZATION.replace("      - {space: copy", node)), "acme/space/guides", "manual")
    assert '- {forEach: [a, b], space: "${{ each.key }}-x", title: T, duplicateOf: manual}' in lines


def test_redirects_in_files_with_the_key_in_their_names_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "redirects"
    folder.mkdir()
    (folder / "docs.csv").write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    texts = written(tmp_path, HEAD + "urls: {redirects: [nginx]}\n" + ORGANIZATION)
    with pytest.raises(Refused, match=r"the redirects of acme/site/docs are in redirects/docs.csv") as refused:
        renamed(texts, Address.parse("acme/site/docs"), "handbook")
    assert "git mv redirects/docs.csv redirects/handbook.csv" in str(refused.value.hint)


def test_a_project_that_is_not_valid_is_not_touched(tmp_path: Path) -> None:
    texts = written(tmp_path, HEAD + ORGANIZATION.replace("duplicateOf: guides", "duplicateOf: nothing"))
    with pytest.raises(ConfigError, match="nothing"):
        renamed(texts, Address.parse("acme/space/guides"), "manual")


def test_a_value_that_only_one_of_two_versions_has_is_their_difference(tmp_path: Path) -> None:
    def version(name: str, **more: str) -> Desired:
        (tmp_path / name).mkdir()
        space = {"space": "guides", "title": "Guides", **more}
        text = yaml.safe_dump(project({"acme": {"content": [{"space": "blank", "id": "spc_blank", "title": "Blank"}, space]}}))
        (tmp_path / name / "reconciler.yaml").write_text(text, encoding="utf-8")
        return load(tmp_path / name, kinds()).desired

    plain, other = version("plain"), version("other", emoji="\N{ROCKET}")
    assert difference(plain, plain, lambda address: address) is None
    assert str(difference(plain, other, lambda address: address)).startswith("acme/space/guides.emoji")
    assert str(difference(other, plain, lambda address: address)).startswith("acme/space/guides.emoji")
