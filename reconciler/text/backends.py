"""The databases that can hold a state, recognised by the scheme of a URL: a row for each, and nothing about them anywhere else.

In: a URL. Out: its `Backend`. Forbidden: opening anything. A new backend is a row here, and a module of `reconciler.state` that
`reconciler.state.database` opens it with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Backend:
    """One sort of database."""

    # The schemes of its URLs.
    schemes: tuple[str, ...]
    # How its URL is written on a command line, in messages.
    form: str
    # How its URL is written in the YAML, in messages.
    yaml_form: str
    # Whether it is one file of this machine: the kernel keeps its lock, and nobody else receives what the state contains.
    is_file: bool = False
    # Whether its server could be another than the one that is meant, so that it must prove who it is before it gets a password.
    must_be_verified: bool = False


SQLITE: Final = Backend(("sqlite",), "sqlite:///PATH", "sqlite:///FILE", is_file=True)
POSTGRES: Final = Backend(
    # `postgresql+psycopg` names the driver, as SQLAlchemy has it: projects that were written for it go on working.
    ("postgresql", "postgresql+psycopg", "postgres"),
    "postgresql://USER@HOST/NAME",
    "postgresql+psycopg://HOST/DATABASE",
    must_be_verified=True,
)
# `file://` is a folder with the objects of a bucket, for tests and for trying buckets out.
BUCKET: Final = Backend(("s3", "gs", "az", "file"), "s3://BUCKET/PREFIX (also gs:// and az://)", "s3://BUCKET/PREFIX")

BACKENDS: Final = (SQLITE, POSTGRES, BUCKET)


def backend_of(url: str) -> Backend | None:
    """The backend of a URL; None where no state can be there."""
    scheme = url.partition(":")[0]
    return next((backend for backend in BACKENDS if scheme in backend.schemes), None)


def file_of(url: str) -> str:
    """The path in the URL of a file, as it is written: relative to the project in the YAML; "" where the URL names no file."""
    return url.partition("sqlite:///")[2] if backend_of(url) is SQLITE else ""


def url_of(file: object) -> str:
    """The URL of a file."""
    return f"sqlite:///{file}"


def forms(*, yaml: bool = False) -> str:
    """How the URLs of all backends are written: `sqlite:///PATH, postgresql://USER@HOST/NAME or s3://BUCKET/PREFIX`."""
    *others, last = [backend.yaml_form if yaml else backend.form for backend in BACKENDS]
    return f"{', '.join(others)} or {last}"
