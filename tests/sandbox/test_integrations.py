"""Integrations: publishing, versions, who sees them, filters, the development tunnel, deleting."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.box import ADA_READS, BASE, BOB, CARA, CONTROL, ZOE, Box

WORDS = "/integrations/words"
PNG = "aWNvbg=="
FIELDS: dict[str, Any] = {
    "description": "Counts words",
    "summary": "# Words\n\nCounts them.",
    "visibility": "public",
    "target": "space",
    "scopes": ["space:content:read", "space:content:write"],
    "categories": ["analytics"],
    "blocks": [
        {
            "id": "counter",
            "title": "Counter",
            "description": "A count",
            "icon": "icon.png",
            "urlUnfurl": ["https://words.example/**"],
            "markdown": {"codeblock": "count", "body": "content"},
        }
    ],
    "contentSources": [
        {"id": "lists", "title": "Lists", "description": "Of words", "icon": "list.png", "configuration": {"componentId": "setup"}}
    ],
    "externalLinks": [{"url": "https://words.example", "label": "Home"}],
    "configurations": {
        "account": {
            "properties": {
                "language": {
                    "title": "Language",
                    "description": "Of the words",
                    "type": "string",
                    "default": "en",
                    "completion_url": "https://words.example/languages",
                    "enum": ["en", "fr"],
                }
            },
            "required": ["language"],
        },
        "space": {"properties": {"limit": {"type": "number", "default": 3}}, "required": []},
        "site": {"properties": {"shown": {"type": "boolean", "default": False}}, "required": ["shown"]},
    },
    "contentSecurityPolicy": {"connect-src": "https://words.example"},
}
WHOLE: dict[str, Any] = FIELDS | {
    "organization": "org_a",
    "title": "Words",
    "runtime": "v1",
    "icon": PNG,
    "previewImages": [PNG, PNG],
    "script": "the-script-of-words()",
    "secrets": {"KEY": "the-secret-of-words"},
}


def publish(box: Box, name: str = "words", token: str | None = None, **fields: Any) -> Any:
    body = {"organization": "org_a", "title": "Words", **fields}
    return box.post(f"/integrations/{name}", body, status=200, **({"token": token} if token else {}))


def names(box: Box, token: str | None = None, **query: Any) -> list[str]:
    answer = box.send("GET", "/integrations", params=query, **({"token": token} if token else {}))
    assert answer.status_code == 200
    assert answer.json()["count"] == len(answer.json()["items"])
    return [item["name"] for item in answer.json()["items"]]


# -- publishing --------------------------------------------------------------------------------------------------------------------


def test_what_was_published_is_shown_field_by_field(box: Box) -> None:
    made = box.post(WORDS, WHOLE, status=200)
    assert {name: made[name] for name in FIELDS} == FIELDS
    assert (made["object"], made["name"], made["version"], made["title"]) == ("integration", "words", 1, "Words")
    assert made["verified"] is False
    assert (made["permissions"], made["owner"]) == ({"admin": True}, box.get("/orgs/org_a"))
    assert set(made["urls"]) == {"location", "icon", "app", "assets", "publicEndpoint"}
    assert made["urls"]["location"] == f"{BASE}/v1/integrations/words"
    assert len(made["previewImages"]) == 2
    assert box.get(WORDS) == made == box.items("/integrations")[0]


def test_what_is_left_out_has_its_default(box: Box) -> None:
    made = publish(box)
    assert (made["visibility"], made["target"], made["version"]) == ("private", "all", 1)
    for empty in ("scopes", "categories", "blocks", "contentSources", "externalLinks", "previewImages"):
        assert made[empty] == []
    assert made["configurations"] == {}
    assert "contentSecurityPolicy" not in made
    assert "icon" not in made["urls"]


def test_publishing_again_makes_the_next_version_and_keeps_nothing_of_the_last(box: Box) -> None:
    box.post(WORDS, WHOLE, status=200)
    again = publish(box, title="Only words", contentSecurityPolicy="default-src 'none'")
    assert (again["version"], again["title"]) == (2, "Only words")
    assert again["contentSecurityPolicy"] == "default-src 'none'"
    assert (again["description"], again["blocks"], again["configurations"], again["visibility"]) == ("", [], {}, "private")
    assert "icon" not in again["urls"]
    assert (names(box), publish(box)["version"]) == (["words"], 3)


def test_the_publishing_organization_is_named_by_id_or_by_hostname(box: Box) -> None:
    hostname = box.get("/orgs/org_a")["hostname"]
    assert hostname != "org_a"
    assert publish(box, organization=hostname)["owner"]["id"] == "org_a"
    for unknown in ("nowhere", "org_b", "org-b"):
        assert box.refused("POST", WORDS, {"organization": unknown, "title": "Words"}, status=404) == f"organization {unknown} not found"
    assert box.get(WORDS)["version"] == 1


def test_names_hold_letters_digits_hyphens_underscores_and_dots(box: Box) -> None:
    assert publish(box, "My_words-2.0")["name"] == "My_words-2.0"
    for wrong in ("a%20b", "w%C3%B6rter", "a@b", "words%0A"):
        assert box.refused("POST", f"/integrations/{wrong}", {"organization": "org_a", "title": "Words"}).startswith("integrationName")
    assert names(box) == ["My_words-2.0"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": None}, "title"),
        ({"organization": 1}, "organization"),
        ({"icon": "no base64!"}, "icon"),
        ({"previewImages": [PNG, "ä"]}, "previewImages.1"),
        ({"scopes": "all"}, "scopes"),
        ({"categories": [1]}, "categories.0"),
        ({"blocks": [{"title": "no id"}]}, "blocks.0.id"),
        ({"contentSources": [{"id": ""}]}, "contentSources.0.id"),
        ({"externalLinks": [{"label": "no url"}]}, "externalLinks.0.url"),
        ({"configurations": {"account": {"properties": {"a": {}}}}}, "configurations.account.properties.a.type"),
        ({"configurations": {"space": {"required": [1]}}}, "configurations.space.required.0"),
        ({"script": 1}, "script"),
        ({"secrets": {"KEY": 1}}, "secrets.KEY"),
        ({"contentSecurityPolicy": {"connect-src": 1}}, "contentSecurityPolicy"),
    ],
)
def test_a_wrong_body_is_refused_by_its_field_and_publishes_nothing(box: Box, wrong: Any, field: str) -> None:
    assert box.refused("POST", WORDS, {"organization": "org_a", "title": "Words"} | wrong).startswith(field)
    box.refused("GET", WORDS, status=404)


def test_only_admins_publish(box: Box) -> None:
    body = {"organization": "org_a", "title": "Words"}
    box.refused("POST", WORDS, body, status=403, token=CARA)
    box.refused("POST", WORDS, body, status=403, token=ADA_READS)
    box.refused("POST", WORDS, body, status=404, token=BOB)
    box.refused("GET", WORDS, status=404)
    assert publish(box, token=ZOE)["version"] == 1


def test_a_name_stays_with_who_published_it_first(box: Box) -> None:
    publish(box, visibility="public")
    mine = {"organization": "org_b", "title": "Mine"}
    box.refused("POST", WORDS, mine, status=404, token=BOB)
    assert box.refused("POST", WORDS, mine, token=ZOE).startswith("organization: words")
    assert (box.get(WORDS)["version"], box.get(WORDS)["title"]) == (1, "Words")


# -- who sees what -----------------------------------------------------------------------------------------------------------------


def test_secrets_scripts_and_the_tunnel_are_shown_nowhere(box: Box) -> None:
    box.post(WORDS, WHOLE, status=200)
    box.post(f"{WORDS}/installations", {"organization": "org_a"})
    assert box.send("PUT", f"{WORDS}/dev", {"tunnelUrl": "https://tunnel.example/hidden"}).status_code == 204
    event = box.ids(f"{WORDS}/events")[0]
    paths = ["/integrations", WORDS, *(f"{WORDS}/{part}" for part in ("installations", "events", f"events/{event}", "spaces", "sites"))]
    answers = [box.send("GET", path) for path in paths]
    control = [box.send("GET", path, token=CONTROL) for path in ("/_sandbox/export", "/_sandbox/faults/log")]
    assert {answer.status_code for answer in (*answers, *control)} == {200}
    for hidden in ("the-script-of-words", "the-secret-of-words"):
        assert not any(hidden in answer.text for answer in (*answers, *control))
        assert hidden.encode() not in b"".join(file.read_bytes() for file in box.db.parent.iterdir())
    assert not any("tunnel.example" in answer.text for answer in answers)


def test_a_refusal_does_not_repeat_a_secret(box: Box) -> None:
    assert "the-secret-of-words" not in box.refused("POST", WORDS, WHOLE | {"secrets": {"KEY": ["the-secret-of-words"]}})


@pytest.mark.parametrize(("visibility", "read", "listed"), [("private", 404, []), ("unlisted", 200, []), ("public", 200, ["words"])])
def test_other_organizations_see_what_the_visibility_says(box: Box, visibility: str, read: int, listed: list[str]) -> None:
    publish(box, visibility=visibility)
    assert names(box) == names(box, token=CARA) == ["words"]
    assert names(box, token=BOB) == listed
    for part in ("", "/installations", "/events", "/spaces", "/sites"):
        assert box.send("GET", f"{WORDS}{part}", token=BOB).status_code == read
    assert box.send("POST", f"{WORDS}/installations", {"organization": "org_b"}, token=BOB).status_code == (404 if read == 404 else 201)


def test_others_see_of_the_owner_no_more_than_its_name(box: Box) -> None:
    box.patch("/orgs/org_a", {"emailDomains": ["acme.example"], "hostname": "acme-docs"})
    publish(box, visibility="public")
    seen = box.send("GET", WORDS, token=BOB).json()
    assert (seen["owner"]["id"], seen["owner"]["title"], seen["owner"]["emailDomains"]) == ("org_a", "Acme", [])
    assert "hostname" not in seen["owner"]
    assert seen["permissions"] == {"admin": False}
    assert box.send("GET", WORDS, token=CARA).json()["permissions"] == {"admin": False}


# -- filters -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["words", "plain", "bolts"]),
        ({"search": "WORD"}, ["words"]),
        ({"search": "counting"}, ["words"]),
        ({"search": "nothing"}, []),
        ({"category": "analytics"}, ["words"]),
        ({"category": "analytic"}, []),
        ({"scope": "space:content:read"}, ["words", "bolts"]),
        ({"owner": "org_b"}, ["bolts"]),
        ({"owner": "org_x"}, []),
        ({"target": "space"}, ["words", "plain"]),
        ({"target": "site"}, ["plain", "bolts"]),
        ({"blocks": True}, ["words"]),
        ({"blocks": False}, ["plain", "bolts"]),
        ({"contentSources": True}, ["words"]),
        ({"contentSources": False}, ["plain", "bolts"]),
        ({"blockDomain": "words.example"}, ["words"]),
        ({"blockDomain": "www.words.example"}, ["words"]),
        ({"blockDomain": "otherwords.example"}, []),
        ({"blockDomain": ["none.example", "words.example"]}, ["words"]),
        ({"search": "word", "owner": "org_b"}, []),
    ],
)
def test_a_filter_finds_what_it_says(box: Box, query: Any, found: list[str]) -> None:
    box.post(WORDS, WHOLE | {"title": "Counting"}, status=200)
    publish(box, "plain", title="Plain")
    publish(box, "bolts", ZOE, organization="org_b", title="Bolts", target="site", visibility="public", scopes=["space:content:read"])
    assert names(box, **query) == found


def test_the_list_comes_in_pages_and_refuses_invalid_filter_values(box: Box) -> None:
    for number in range(3):
        publish(box, f"words-{number}")
    first = box.get("/integrations", limit=2)
    assert (len(first["items"]), first["count"]) == (2, 3)
    assert [item["name"] for item in box.items("/integrations", limit=2, page=first["next"]["page"])] == ["words-2"]
    for wrong in ("blocks", "contentSources"):
        assert box.refused("GET", "/integrations", params={wrong: "perhaps"}).startswith(wrong)


# -- the development tunnel, deleting ----------------------------------------------------------------------------------------------


def test_the_tunnel_is_set_without_an_answer_by_admins_of_the_owner(box: Box) -> None:
    publish(box, visibility="public")
    tunnel = {"tunnelUrl": "https://tunnel.example"}
    for body in (tunnel, tunnel | {"all": True}, {"tunnelUrl": "x" * 256}):
        answer = box.send("PUT", f"{WORDS}/dev", body)
        assert (answer.status_code, answer.content) == (204, b"")
    refusals: list[tuple[Any, str]] = [({}, "tunnelUrl"), ({"tunnelUrl": ""}, "tunnelUrl"), ({"tunnelUrl": "x" * 257}, "tunnelUrl")]
    for wrong, field in [*refusals, (tunnel | {"all": 1}, "all")]:
        assert box.refused("PUT", f"{WORDS}/dev", wrong).startswith(field)
    box.refused("PUT", f"{WORDS}/dev", tunnel, status=403, token=CARA)
    box.refused("PUT", f"{WORDS}/dev", tunnel, status=404, token=BOB)
    box.refused("PUT", "/integrations/none/dev", tunnel, status=404)
    assert box.get(WORDS)["version"] == 1


def test_deleting_an_absent_object_is_done_and_a_foreign_one_stays(box: Box) -> None:
    box.delete("/integrations/none")
    publish(box)
    assert box.send("DELETE", WORDS, token=BOB).status_code == 204
    box.refused("DELETE", WORDS, status=403, token=CARA)
    assert box.get(WORDS)["version"] == 1
    publish(box, visibility="public")
    box.refused("DELETE", WORDS, status=403, token=BOB)
    assert box.get(WORDS)["version"] == 2
