"""`expect`: what the service derives is what the YAML says, or the resource is blocked before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.config import load
from reconciler.errors import ConfigError
from reconciler.kinds import load as kinds
from reconciler.report.drift import summary
from tests.harness import ORGANIZATION, Org
from tests.outside import drifted
from tests.small import applied, described

SITE = "acme/site/docs"


def tree(*sections: dict[str, Any], **site: Any) -> dict[str, Any]:
    content = [{"space": "blank", "id": "spc_blank", "title": "Blank"}, {"space": "guides", "title": "Guides"}]
    rows = [{"spaces": [{"key": f"in-{entry['section']}", "space": "guides"}], **entry} for entry in sections]
    return {"content": content, "sites": {"docs": {"title": "Docs", "structure": rows, **site}}}


def section(key: str, title: str, **fields: Any) -> dict[str, Any]:
    return {"section": key, "title": title, **fields}


def blocked(org: Org) -> dict[str, tuple[str, str]]:
    return {
        str(entry.address).removeprefix(f"{SITE}/"): (entry.reason, entry.remedy) for entry in org.plan().blocked if entry.cause is None
    }


def test_a_value_that_comes_out_as_expected_changes_nothing(org: Org) -> None:
    plain = tree(section("a", "Get started"))
    applied(org, tree(section("a", "Get started", expect={"path": "get-started"}), expect={"basename": "docs"}))
    org.write(plain)
    assert described(org.plan()) == []


def test_a_path_that_a_sibling_takes_first_blocks_the_section_and_what_is_in_it(org: Org) -> None:
    org.write(tree(section("a", "Guides"), section("b", "Guides", adopt="never", expect={"path": "guides"})))
    assert blocked(org) == {
        "section/b": (
            "expect.path is guides, but the service will derive guides-2 (from the title; acme/site/docs/section/a has guides)",
            "write path: guides instead of expect to set it, or expect guides-2",
        )
    }
    assert not [step for step in org.plan().steps if "section/b" in str(step.address) or "in-b" in str(step.address)]
    org.write(tree(section("a", "Guides"), section("b", "Guides", adopt="never", expect={"path": "guides-2"})))
    assert blocked(org) == {}
    applied(org, tree(section("a", "Guides"), section("b", "Guides", adopt="never", expect={"path": "guides-2"})))


def test_a_variant_that_its_section_creates_blocks_the_section_too(org: Org) -> None:
    org.write(tree(section("a", "Guides", spaces=[{"space": "guides", "expect": {"path": "manual"}}])))
    plan = org.plan()
    assert {str(entry.address) for entry in plan.blocked} >= {f"{SITE}/section/a", f"{SITE}/site-space/guides"}
    assert not [step for step in plan.steps if str(step.address).startswith(f"{SITE}/section")]


def test_what_exists_with_another_value_is_blocked_until_the_yaml_says_which_is_meant(org: Org) -> None:
    applied(org, tree(section("a", "Guides")))
    org.write(tree(section("a", "Manuals", expect={"path": "manuals"})))
    assert blocked(org) == {
        "section/a": (
            "expect.path is manuals, but the service has guides",
            "write path: manuals instead of expect to set it, or expect guides",
        )
    }
    applied(org, tree(section("a", "Manuals", expect={"path": "guides"})))
    applied(org, tree(section("a", "Manuals", path="manuals")))


def test_drift_finds_a_value_that_is_not_as_expected_whoever_changed_it(org: Org) -> None:
    public = {"visibility": "public", "published": True, "basename": "docs"}
    applied(org, tree(section("a", "Guides"), **public))
    sections = f"/orgs/{ORGANIZATION}/sites/{org.id(SITE)}/sections"
    (created,) = org.items(sections)
    asserted = {"path": "guides", "url": created["urls"]["published"]}
    org.write(tree(section("a", "Guides", expect=asserted), **public))
    assert drifted(org).violations == ()
    org.call("PATCH", f"{sections}/{created['id']}", {"path": "manuals"})
    drift = drifted(org)
    assert drift.resources == (), "nobody manages the path"
    assert [
        (violation.name, violation.message, violation.source.line > 1 if violation.source else None) for violation in drift.violations
    ] == [
        ("expect path", "it is manuals, not guides", True),
        ("expect url", f"it is {asserted['url'].replace('/guides', '/manuals')}, not {asserted['url']}", True),
    ]
    assert summary(drift).startswith("No drift; 2 assertions not met")


def test_a_published_url_is_compared_as_it_will_be(org: Org) -> None:
    public = {"visibility": "public", "published": True, "basename": "docs"}
    first = tree(section("a", "Guides", path="guides", expect={"url": "https://not-known-yet.example"}), **public)
    org.write(first)
    assert blocked(org) == {}, "nobody knows the URL of what does not exist"
    applied(org, tree(section("a", "Guides", path="guides"), **public))
    url = org.items(f"/orgs/{ORGANIZATION}/sites/{org.id(SITE)}/sections")[0]["urls"]["published"]
    assert url.rstrip("/").endswith("/guides")
    applied(org, tree(section("a", "Guides", path="guides", expect={"url": url}), **public))
    moved = url.replace("/guides", "/manuals")
    org.write(tree(section("a", "Guides", path="manuals", expect={"url": url}), **public))
    assert blocked(org)["section/a"][0] == f"expect.url is {url}, but this plan changes it to {moved}"
    applied(org, tree(section("a", "Guides", path="manuals", expect={"url": moved}), **public))
    org.write(tree(section("a", "Guides", path="manuals", expect={"url": url}), **public))
    assert blocked(org)["section/a"][0] == f"expect.url is {url}, but it is {moved}"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"path": "guides", "expect": {"path": "guides"}}, "expect.path is not allowed here: path is written, so nothing derives it"),
        ({"expect": {"title": "Guides"}}, 'expect knows no "title"; one of path, url'),
        ({"expect": {"pth": "guides"}}, 'expect knows no "pth"; did you mean "path"?'),
        ({"expect": "guides"}, 'expect must be a map, not "guides"; write {path: …}'),
        ({"expect": {"path": ""}}, "path is empty"),
        ({"expect": {"url": ["a"]}}, "url must be text, not a list"),
    ],
)
def test_a_wrong_assertion_is_an_error_at_its_line(org: Org, fields: dict[str, Any], problem: str) -> None:
    org.write(tree(section("a", "Guides", **fields)))
    with pytest.raises(ConfigError) as error:
        org.load()
    assert problem in str(error.value)
    assert len(error.value.problems) == 1


def test_a_kind_of_which_nothing_is_derived_has_no_assertion(tmp_path: Path) -> None:
    text = "version: 1\nproject: p\norganizations: {acme: {id: org_acme, teams: {a: {title: A, expect: {path: a}}}}}\n"
    (tmp_path / "reconciler.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="expect is not allowed here: the service derives nothing of a team"):
        load(tmp_path, kinds())
