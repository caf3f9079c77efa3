"""The YAML names the server of a state so that everybody sees which it is, and nothing else that decides where a password goes."""

from __future__ import annotations

import pytest

from reconciler.config.source.state_url import mistake

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
