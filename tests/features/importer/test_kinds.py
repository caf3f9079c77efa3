"""What an import writes of kinds that the service fills, hides or clears, and what a project accepts of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reconciler.config import load
from reconciler.errors import Refused
from reconciler.model import Action
from tests.apply.test_singles import AGENTS, BOTH, INSTRUCTIONS, SCHEMA, VISITORS, document, path_of
from tests.features.drift.outside import drifted
from tests.features.importer.imported import imported
from tests.features.importer.test_accept import accept
from tests.harness import Org, kinds
from tests.kinds.test_integration import CHARTS, MINE, SEARCH, VENDOR, published, writes
from tests.kinds.test_member import CLEARED, MEMBER, cleared
from tests.kinds.test_translation import ONE_FR, TRANSLATIONS, run, translated
from tests.outside import CASES, Case, edit, everything
from tests.proofs import costly
from tests.small import applied, described, settled


def test_integrations_are_imported_and_found_again_without_a_state(tmp_path: Path) -> None:
    org = Org(tmp_path, seed=VENDOR)
    applied(org, published())
    _, plan = imported(org, tmp_path / "new")
    assert (described(plan), plan.blocked) == ([], ())
    text = (tmp_path / "new" / "reconciler.yaml").read_text("utf-8")
    (written,) = yaml.safe_load(text)["organizations"].values()
    assert written["integrations"] == {
        "acme-charts": {
            "title": "Charts",
            "visibility": "private",
            "scopes": ["space:content:read"],
            "blocks": [{"id": "chart", "title": "Chart"}],
        }
    }
    assert list(written["installations"].values()) == [{"integration": "acme-charts"}]
    assert "not written: script of an integration, of which the service shows nothing" in text
    known = {address: org.id(address) for address in (MINE, CHARTS, SEARCH)}
    (org.root / "state.db").unlink()
    org.requests.clear()
    org.apply()
    assert [path for _, path in writes(org)] == ["/integrations/acme-charts"], "nobody knows whether the script is the same"
    assert {address: org.id(address) for address in known} == known
    settled(org)


def test_translations_are_imported_and_found_again_without_a_state(org: Org, tmp_path: Path) -> None:
    tree = translated()
    tree["translations"]["two-fr"] = {"source": {"space": "two", "language": "en"}, "language": "fr"}
    applied(org, tree)
    run(org)
    _, plan = imported(org, tmp_path / "new")
    assert (described(plan), plan.blocked, plan.unmanaged) == ([], (), ())
    (written,) = yaml.safe_load((tmp_path / "new" / "reconciler.yaml").read_text("utf-8"))["organizations"].values()
    made = sorted(written["translations"].values(), key=lambda one: str(one["source"]["space"]))
    assert [(one["source"], one["language"]) for one in made] == [
        ({"space": "one", "language": "en"}, "fr"),
        ({"space": "two", "language": "en"}, "fr"),
    ]
    assert made[0]["instructions"] == "Keep our names."
    known = {address: org.id(address) for address in (ONE_FR, "acme/translation/two-fr")}
    (org.root / "state.db").unlink()
    tree["content"][1]["id"], tree["content"][2]["id"] = (org.call("GET", TRANSLATIONS)["items"][at]["source"]["space"] for at in (-1, 0))
    ids = {item["id"]: item["source"]["space"] for item in org.call("GET", TRANSLATIONS)["items"]}
    tree["content"][1]["id"], tree["content"][2]["id"] = ids[known[ONE_FR]], ids[known["acme/translation/two-fr"]]
    org.write(tree)
    org.requests.clear()
    org.apply()
    assert writes(org) == []
    assert {address: org.id(address) for address in known} == known


def test_import_writes_a_flag_only_if_it_is_true(tmp_path: Path) -> None:
    org = Org(tmp_path)
    org.call("POST", f"{MEMBER}/sso")
    _, plan = imported(org, tmp_path / "new")
    assert (described(plan), plan.blocked) == ([], ())
    (written,) = yaml.safe_load((tmp_path / "new" / "reconciler.yaml").read_text("utf-8"))["organizations"].values()
    assert written["members"] == {"ada@acme.example": "admin", "linus@acme.example": {"role": "read", "sso": True}}


def test_an_import_omits_what_is_cleared_and_writes_what_is_set(org: Org, tmp_path: Path) -> None:
    for name, tree in (("set", everything()), ("cleared", cleared(everything()))):
        applied(org, tree)
        _, made = imported(org, tmp_path / name)
        assert (made.changes, made.steps, made.blocked) == ((), (), ())
        written = [one for one in load(tmp_path / name, kinds()).desired.resources.values() if not one.implied]
        present = {(one.kind, field) for one in written for field, value in one.values.items() if value is not None}
        expected = {(case.kind, case.field) for case in CLEARED} - {("organization", "logo")}  # the service shows its own copy
        assert (present & expected == expected) if name == "set" else not present & {("section", "description"), ("space", "emoji")}


@costly
@pytest.mark.parametrize("write_null", [False, True], ids=["somebody clears it", "somebody sets it"])
def test_what_somebody_else_clears_or_sets_is_drift_that_the_yaml_can_accept(org: Org, write_null: bool) -> None:
    applied(org, cleared(everything()) if write_null else everything())
    values = {case.address + "." + case.field: case for case in CASES}
    seen = [case for case in CLEARED if not (write_null and kinds()[case.kind].fields[case.field].hosted)]  # nothing tells which image
    for case in seen:
        name = f"{case.address}.{case.field}"
        other = values[name] if values[name].value is not None else Case(case.kind, case.field, case.address, "visitor.claims.z")
        edit(org, other if write_null else case)
    found = {f"{one.address}.{field.name}" for one in drifted(org).resources for field in one.fields}
    expected = {f"{case.address}.{case.field}" for case in seen}
    assert found == expected
    accept(org, *sorted(expected))
    assert drifted(org).resources == ()
    made = org.plan()
    assert (made.changes, made.steps, made.blocked) == ((), (), ())
    resources = {str(address): declared for address, declared in org.load().desired.resources.items()}
    assert [resources[case.address].values[case.field] is None for case in seen] == [not write_null] * len(seen)


def test_emptied_instructions_are_deleted_ones_and_are_created_again(org: Org) -> None:
    applied(org, BOTH)
    org.call("PUT", INSTRUCTIONS, {"instructions": {"object": "document", "nodes": []}})
    (made,) = org.plan().changes
    assert (str(made.address), set(made.actions), made.reason) == (AGENTS, {Action.CREATE}, "deleted outside Reconciler")
    with pytest.raises(Refused, match="was deleted outside"):
        accept(org, AGENTS)
    applied(org, BOTH)
    assert org.call("GET", INSTRUCTIONS)["instructions"] == document("Answer in plain English.")


YAML = """\
version: 1
project: test
service: {member: ada@acme.example}
organizations:
  acme:
    id: org_acme
    agentInstructions: Answer in plain English.  # as the handbook has it
    # what we know of visitors
    sites:
      docs:
        title: Docs
        adaptiveSchema:
          type: object
          properties:
            isBeta: {type: boolean}  # takes part in the beta
          additionalProperties: false
        visibility: public
"""


def test_an_accepted_value_is_in_the_yaml_and_the_rest_is_unchanged(org: Org) -> None:
    applied(org, YAML)  # type: ignore[arg-type]
    org.call("PUT", INSTRUCTIONS, {"instructions": document("Be brief.")})
    org.call("PUT", path_of(org), {"jsonSchema": {**SCHEMA, "properties": {"isBeta": {"type": "boolean"}, "isGamma": {"type": "boolean"}}}})
    accept(org, AGENTS, f"{VISITORS}.jsonSchema")
    now = (org.project / "reconciler.yaml").read_text("utf-8")
    changed = YAML.replace("Answer in plain English.", "Be brief.")
    beta = "            isBeta: {type: boolean}  # takes part in the beta\n"
    assert now == changed.replace(beta, f"{beta}            isGamma:\n              type: boolean\n") or now == changed.replace(
        beta, f"{beta}            isGamma: {{type: boolean}}\n"
    )
    assert org.plan().empty


def test_text_of_several_lines_and_styled_text_are_accepted(org: Org) -> None:
    applied(org, YAML)  # type: ignore[arg-type]
    path = org.project / "reconciler.yaml"
    path.write_text(YAML.replace("  # as the handbook has it", ""), encoding="utf-8")
    block = "agentInstructions: |-\n      Be brief.\n      Be kind.\n"
    for text, written in (("Be brief.\nBe kind.", block), ("Be.", "agentInstructions: Be.\n")):
        lines = [block for line in text.split("\n") for block in document(line)["nodes"]]
        org.call("PUT", INSTRUCTIONS, {"instructions": {**document(""), "nodes": lines}})
        accept(org, AGENTS)
        assert written in path.read_text("utf-8")
        assert org.plan().empty
    org.call("PUT", INSTRUCTIONS, {"instructions": {**document("Be."), "nodes": [{"object": "block", "type": "heading-1", "nodes": []}]}})
    accept(org, AGENTS)
    assert org.plan().empty
