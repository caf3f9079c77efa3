"""The fakes answer as the documentation of the services says."""

from __future__ import annotations

from typing import Any

import httpx2

from tests.features.forges import Bitbucket, Fault, GitHub, GitLab
from tests.features.forges.gitlab import quick_actions
from tests.features.forges.server import CUT


def client(base: str, **headers: str) -> httpx2.Client:
    return httpx2.Client(base_url=base, headers={name.replace("_", "-"): value for name, value in headers.items()}, trust_env=False)


def test_a_token_of_github_actions_writes_comments_and_does_not_learn_who_it_is() -> None:
    with GitHub(limit=200) as github, client(github.api, authorization=f"Bearer {github.token()}") as http:
        pull = github.pull()
        comments = "/repos/acme/handbook/issues/7/comments"
        created = [http.post(comments, json={"body": f"comment {number}"}) for number in range(3)]
        assert [answer.status_code for answer in created] == [201, 201, 201]
        assert created[0].json()["user"]["login"] == "github-actions[bot]"
        first = http.get(comments, params={"per_page": 2})
        assert [comment["body"] for comment in first.json()] == ["comment 0", "comment 1"]
        assert [comment["body"] for comment in http.get(first.links["next"]["url"]).json()] == ["comment 2"]
        assert http.patch(f"/repos/acme/handbook/issues/comments/{created[0].json()['id']}", json={"body": "new"}).status_code == 200
        assert http.delete(f"/repos/acme/handbook/issues/comments/{created[1].json()['id']}").status_code == 204
        assert github.bodies(pull) == ["new", "comment 2"]
        assert http.get("/user").status_code == 403
        assert http.post(comments, json={"body": "x" * 65_537}).json()["errors"][0]["message"].startswith("Body is too long")
        assert [http.post("/repos/acme/handbook/issues/7/reactions", json={"content": "eyes"}).status_code for _ in "ab"] == [201, 200]


def test_a_query_that_github_does_not_know_is_refused() -> None:
    with GitHub() as github, client(github.api, authorization=f"Bearer {github.token()}") as http:
        github.says(github.pull(), "mallory", "hello")
        query = 'query { repository(owner: "acme", name: "handbook") { pullRequest(number: 7) { comments(first: 100) { nodes { %s } } } } }'
        asked = [http.post("/graphql", json={"query": query % fields}).json() for fields in ("body viewerDidAuthor", "unheardOf")]
        assert asked[0]["data"]["repository"]["pullRequest"]["comments"]["nodes"] == [{"body": "hello", "viewerDidAuthor": False}]
        assert "Cannot query field" in asked[1]["errors"][0]["message"]


def test_wrong_tokens_forks_limits_and_faults_are_answered_as_documented() -> None:
    with GitHub(limit=2) as github:
        comments = f"{github.api}/repos/acme/handbook/issues/7/comments"
        github.pull()
        fork = {"authorization": f"Bearer {github.token(writes=False)}"}
        assert httpx2.get(comments).status_code == 401
        assert httpx2.post(comments, json={"body": "x"}, headers=fork).json()["message"] == "Resource not accessible by integration"
        assert httpx2.get(comments, headers=fork).status_code == 200
        limited = httpx2.get(comments, headers=fork)
        assert (limited.status_code, limited.headers["x-ratelimit-remaining"]) == (403, "0")
        github.fault = lambda sent: Fault(CUT)
        try:
            httpx2.get(comments, headers=fork)
        except httpx2.RemoteProtocolError:
            return
        raise AssertionError("the connection was not cut")


def test_notes_of_gitlab_have_pages_and_carry_out_quick_actions() -> None:
    with GitLab() as gitlab, client(gitlab.api, private_token=gitlab.token()) as http:
        merge = gitlab.pull()
        notes = "/projects/acme%2Fhandbook/merge_requests/7/notes"
        assert [http.post(notes, data={"body": text}).status_code for text in ("one", "two\n/close", "```\n/close\n```")] == [201, 201, 201]
        assert merge.actions == ["close"]
        page = http.get("/projects/12/merge_requests/7/notes", params={"per_page": 2, "sort": "asc"})
        assert ([note["body"] for note in page.json()], page.headers["x-next-page"]) == (["one", "two\n/close"], "2")
        assert http.put(f"{notes}/{page.json()[0]['id']}", json={"body": "new"}).json()["body"] == "new"
        assert [http.post("/projects/12/merge_requests/7/award_emoji", data={"name": "eyes"}).status_code for _ in "ab"] == [201, 404]
        assert quick_actions("````\n```\n/close\n```\n````\n/merge now") == ["merge"]


def test_bitbucket_keeps_deleted_comments_in_its_pages_and_tells_a_repository_token_no_user() -> None:
    with Bitbucket() as bitbucket, client(bitbucket.api, authorization=f"Bearer {bitbucket.token()}") as http:
        bitbucket.pull()
        comments = "/repositories/acme/handbook/pullrequests/7/comments"
        created: list[Any] = [http.post(comments, json={"content": {"raw": text}}).json() for text in ("one", "two", "three")]
        assert http.delete(f"{comments}/{created[0]['id']}").status_code == 204
        first = http.get(comments, params={"pagelen": 2}).json()
        assert [(comment["content"]["raw"], comment["deleted"]) for comment in first["values"]] == [("", True), ("two", False)]
        assert [comment["content"]["raw"] for comment in http.get(first["next"]).json()["values"]] == ["three"]
        assert http.get("/user").status_code == 403
        assert http.post(comments, json={"content": {"raw": "x" * 32_769}}).text == "<h1>Bad Request (400)</h1>"
