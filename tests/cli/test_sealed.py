"""Files that save time count only if this user's programs wrote them."""

from __future__ import annotations

import hmac
from pathlib import Path

import pytest

from reconciler.cli.wiring.sealed import FOLDER, Seal


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home(tmp_path / "home", monkeypatch)
    (tmp_path / "p" / FOLDER).mkdir(parents=True)
    return tmp_path / "p"


def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))


def seal(root: Path) -> Seal:
    made = Seal.of(root)
    assert made is not None
    return made


def test_a_file_of_somebody_else_or_of_another_name_is_ignored(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = seal(root)
    mine.write("a", {"x": 1})
    assert mine.read("a") == {"x": 1}
    written = mine.path("a").read_bytes()
    mine.path("b").write_bytes(written)
    assert mine.read("b") is None
    body = b'{"x":2}'
    for digest in (b"", written.partition(b"\n")[0], hmac.digest(b"", body, "sha256").hex().encode()):
        mine.path("a").write_bytes(digest + b"\n" + body)
        assert mine.read("a") is None
    home(root.parent / "other", monkeypatch)
    mine.path("a").write_bytes(written)
    assert seal(root).read("a") is None


def test_a_secret_in_the_project_or_of_others_seals_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal(root)
    (file,) = (root.parent / "home").rglob("seal.key")
    assert not file.stat().st_mode & 0o077
    file.chmod(0o644)
    assert Seal.of(root) is None
    home(root / "home", monkeypatch)
    assert Seal.of(root) is None
    assert not list(root.rglob("seal.key"))
