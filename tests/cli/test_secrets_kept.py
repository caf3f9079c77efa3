"""What the state keeps of a sensitive field: a digest that only the state's own key makes, and that nobody can guess a value against."""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from reconciler import kinds
from tests.cli.conftest import Cli
from tests.hostile.canaries.world import secretive, with_secretive

PASSWORD = "hunter2"  # unlike hexadecimal digits: in ids, which are made of these, what is secret would be hidden too
SAML = """\
    saml:
      okta: {label: Okta, entityID: "http://one", ssoURL: "https://one/sso", certificate: "hunter2"}
    sites:
"""


@pytest.fixture
def applied(cli: Cli) -> Iterator[Cli]:
    """A project one field of which is declared sensitive, with a value that is easily guessed."""
    with with_secretive():
        assert cli("init", "p", "--sandbox").exit_code == 0
        cli.edit("p/reconciler.yaml", "    sites:\n", SAML)
        result = cli("apply", "p", "--yes", "--allow-exposure", "acme/saml/okta")
        assert result.exit_code == 0, result.stdout + result.stderr
        yield cli


def kept(cli: Cli, state: str = "p/.reconciler/state.db") -> tuple[set[str], bytes, str]:
    """What stands in the state of the field, the key of the state, and the object's id."""
    with closing(sqlite3.connect(cli.root / state)) as database:
        found = database.execute("select sent, seen from fields where name = 'certificate'").fetchall()
        (key,) = database.execute("select digest_key from states").fetchone()
        (id,) = database.execute("select id from bindings where address = 'acme/saml/okta'").fetchone()
    return {json.loads(text) for row in found for text in row if text is not None}, bytes(key), str(id)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for key, part in value.items() for text in (key, *texts(part)))
    elif isinstance(value, list):
        yield from (text for part in value for text in texts(part))
    elif isinstance(value, str):
        yield value


def test_a_digest_is_made_with_the_key_of_the_state_and_with_nothing_that_can_be_read_elsewhere(applied: Cli) -> None:
    (digest,), key, id = kept(applied)
    assert digest == "hmac-sha256:" + hmac.new(key, json.dumps([id, "certificate", PASSWORD]).encode(), hashlib.sha256).hexdigest()
    pulled = applied("state", "pull", "p").stdout
    assert digest not in pulled
    assert key.hex() not in pulled
    known = {*texts(json.loads(pulled)), *texts(json.loads(applied("state", "list", "p", "--format", "json").stdout)), ""}
    assert id in known
    said = (PASSWORD, json.dumps(PASSWORD), json.dumps([id, "certificate", PASSWORD]))
    for text in said:
        assert hashlib.sha256(text.encode()).hexdigest() not in digest
        assert [one for one in known if hmac.new(one.encode(), text.encode(), hashlib.sha256).hexdigest() in digest] == []


def test_two_states_keep_the_same_secret_of_the_same_object_differently(applied: Cli) -> None:
    other = ("--state", f"sqlite:///{applied.root}/other.db")
    assert applied("apply", "p", "--yes", "--create-state", "--allow-exposure", "acme/saml/okta", *other).exit_code == 0
    (first, _, id), (second, _, same) = kept(applied), kept(applied, "other.db")
    assert id == same
    assert len(first) == len(second) == 1
    assert first != second


def test_it_tells_whether_the_value_is_the_same(applied: Cli) -> None:
    assert applied("plan", "p", "--detailed-exitcode").exit_code == 0
    assert applied("drift", "p").exit_code == 0
    applied.edit("p/reconciler.yaml", '"hunter2"', '"hunter3"')
    (change,) = applied.json("plan", "p")["changes"]
    assert [(one["name"], one["before"], one["cause"]) for one in change["fields"]] == [("certificate", "(sensitive)", "yours")]
    assert applied("plan", "p", "--out", "plan.json").exit_code == 0
    assert applied("apply", "p", "--plan", "plan.json").exit_code == 0
    assert applied("plan", "p", "--detailed-exitcode").exit_code == 0
    (digest,), _, id = kept(applied)
    assert applied("api", "PATCH", f"/orgs/org_acme/saml/{id}", "-f", "certificate=four", "--project", "p").exit_code == 0
    assert applied("drift", "p").exit_code == 2
    assert applied("apply", "p", "--yes", "--allow-exposure", "**").exit_code == 0
    assert kept(applied)[0] == {digest}
    assert applied("state", "forget", "acme/saml/okta", "p").exit_code == 0
    adopted = applied("adopt", "acme/saml/okta", id, "p")
    assert adopted.exit_code == 0, adopted.stderr
    assert kept(applied)[0] == {digest}
    assert applied("plan", "p", "--detailed-exitcode").exit_code == 0
    assert applied("graph", "p", "--steps").exit_code == 0


def test_without_a_key_nothing_is_kept_of_a_secret() -> None:
    certificate = secretive()["saml"].fields["certificate"]
    with pytest.raises(ValueError, match="certificate is sensitive, and there is no key to keep it with"):
        certificate.stored(PASSWORD, "saml_1")
    url = kinds.load()["saml"].fields["ssoURL"]
    assert url.stored("https://ci:hunter2@idp.example/x", "saml_1") == "https://(hidden)@idp.example/x"
