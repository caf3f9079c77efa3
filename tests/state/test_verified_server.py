"""The password of a state on another machine is only sent to a server that proves whose it is, or where the user decided otherwise."""

from __future__ import annotations

import pytest

from reconciler.errors import StateError
from reconciler.state.postgres import require_verified

FAR = "postgresql://ada@db.example/x"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSSLMODE", "PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


def refusal(url: str, *, written: bool) -> str:
    """Why the URL is refused; "" if it is not."""
    try:
        require_verified(url, given="the state", written=written)
    except StateError as error:
        return str(error)
    return ""


def test_the_refusal_prints_what_to_write() -> None:
    with pytest.raises(StateError) as raised:
        require_verified(FAR, given="the state", written=True)
    assert raised.value.id == "RC-state-not-verified"
    for way in ("?sslmode=verify-full", "sslrootcert=system", "sslmode=require", "PGSSLMODE"):
        assert way in str(raised.value.hint)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///x", "postgresql://localhost/x", "postgresql://LOCALHOST/x", "postgresql://127.0.0.1:5432/x", "postgresql://127.9.9.9/x",
        "postgresql://[::1]/x", "postgresql:///x?host=/var/run/postgresql", "postgresql+psycopg://a@localhost/x",
        "postgresql:///x?host=127.0.0.1&host=localhost", "postgresql:///x?hostaddr=127.0.0.1", "sqlite:///x", "s3://bucket/x", "no url",
    ],
)  # fmt: skip
def test_a_server_of_this_machine_needs_no_tls(url: str) -> None:
    assert refusal(url, written=True) == refusal(url, written=False) == ""


@pytest.mark.parametrize(
    "url",
    [
        FAR, "postgresql://localhost.example/x", "postgresql://127.0.0.1.example/x", "postgresql:///x?host=db.example", "postgresql://10.0.0.1/x",
        "postgresql://localhost/x?hostaddr=10.0.0.1", "postgresql://localhost/x?hostaddr=127.0.0.1,10.0.0.1", "postgresql:///x?service=far",
        "postgresql:///x?host=localhost&host=db.example", "postgresql://db.example/x?hostaddr=127.0.0.1", "postgresql://[::2]/x", "postgres://h/x",
    ],
)  # fmt: skip
def test_a_server_elsewhere_needs_it_whoever_wrote_the_url(url: str) -> None:
    for written in (True, False):
        assert refusal(url, written=written).startswith("the state sends its password to ")


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
def test_another_mode_counts_only_from_the_user(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"{FAR}?sslmode={mode}"
    assert refusal(url, written=True) == ""
    assert refusal(url, written=False).endswith(f"(sslmode={mode} is only in the YAML)")
    monkeypatch.setenv("PGSSLMODE", "verify-full")  # the one in the URL wins
    assert refusal(url, written=False)


def test_the_best_mode_counts_from_everybody_and_the_environment_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(f"{FAR}?sslmode=verify-full", written=False) == ""
    assert refusal(f"{FAR}?SSLMODE=verify-full", written=False)
    monkeypatch.setenv("PGSSLMODE", "require")
    assert refusal(FAR, written=False) == ""


def test_variables_of_the_client_decide_which_server_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example")
    assert refusal("postgresql:///x", written=True)
    assert refusal("postgresql://localhost/x", written=True) == ""
    monkeypatch.setenv("PGHOSTADDR", "10.0.0.1")
    assert refusal("postgresql://localhost/x", written=True)
