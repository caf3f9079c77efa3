"""What the token cannot read is unknown in the copy too: each path that a rehearsal reads is refused in turn."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler import exits
from reconciler.features.rehearsal.page.first_screen import rendered
from tests.command_line import Cli
from tests.features.rehearsal.service import LivingService, serving
from tests.features.rehearsal.test_against_applies import ALL, APPLY, _write
from tests.features.rehearsal.test_rehearse import _tree
from tests.harness import Still
from tests.organizations import TOKEN, Tree
from tests.proofs import costly

NEEDED = ("/v1/orgs/org_acme", "/v1/user")  # without them there is no plan


@dataclass
class Denying(LivingService):
    """`denied`: the path that is answered with 403. `asked`: the paths of GETs."""

    denied: str = ""
    asked: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "GET":
            self.asked.append(scope["path"])
            if scope["path"] == self.denied:
                await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"application/json")]})
                await send({"type": "http.response.body", "body": b'{"error": {"code": 403, "message": "denied"}}'})
                return
        await super().__call__(scope, receive, send)


def _trees() -> tuple[Tree, Tree]:
    """Two sites; the first opens, and one of its sections moves."""
    trees = []
    for visibility, path in (("share-link", "guides"), ("public", "use")):
        tree = _tree(visibility=visibility, shareLinks={"partners": {"name": "Partners", "active": True}})
        tree["sites"]["docs"]["structure"][0]["path"] = path
        tree["sites"]["other"] = {"title": "Other", "visibility": "public", "published": True, "structure": ["guides"]}
        tree["teams"] = {"writers": {"title": "Writers"}}
        trees.append(tree)
    return trees[0], trees[1]


def _knows_what_it_lacks(folder: Path, number: int | None, ends: str = "") -> None:
    """Refuse the paths that end so, or every eighth one, in turn."""
    with serving(folder / "living.db", Denying) as service:
        assert isinstance(service, Denying)
        cli = Cli(
            folder,
            {"RECONCILER_BASE_URL": service.base, "RECONCILER_TOKEN": TOKEN, "RECONCILER_STATE": "sqlite:///state.db"},
            clock=Still(),
        )
        before, after = _trees()
        _write(cli, before)
        cli(*APPLY)
        _write(cli, after)
        service.asked = []
        whole = json.loads(cli("rehearse", ".", "--format", "json", *ALL).stdout)
        assert (whole["unread"], whole["divergences"]) == ([], [])
        paths = sorted({path for path in service.asked if path not in NEEDED})
        chosen = [path for path in paths if path.endswith(ends)] if number is None else paths[number::8]
        assert chosen
        gained = {(change["reader"], change["title"]) for change in whole["readers"]["gained"]}
        for path in chosen:
            service.denied = path
            service.begin()
            result = cli("rehearse", ".", "--format", "json", "--detailed-exitcode", *ALL)
            document = json.loads(result.stdout)
            assert any(path.removeprefix("/v1") in sentence for sentence in document["unread"]), path
            assert document["divergences"] == document["failures"] == [], path
            assert result.exit_code == exits.PENDING, path
            assert {(change["reader"], change["title"]) for change in document["readers"]["gained"]} <= gained, path
            text = cli("rehearse", ".", *ALL).stdout
            page = rendered(document)
            assert "every published URL answers" not in text + page, path
            assert ">None<" not in page, path
            assert "No differences" not in page, path
            assert "Could not be read, and is not part of the copy" in text, path
            assert service.writes == []


@costly
@pytest.mark.parametrize("ends", ["/content/pages", "/share-links"])
def test_a_list_that_cannot_be_read_is_unknown_in_the_copy(tmp_path: Path, ends: str) -> None:
    _knows_what_it_lacks(tmp_path, None, ends)


@pytest.mark.proof
@pytest.mark.parametrize("number", range(8))
def test_whatever_cannot_be_read_is_unknown_in_the_copy(tmp_path: Path, number: int) -> None:
    _knows_what_it_lacks(tmp_path, number)
