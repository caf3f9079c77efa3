"""The Dockerfile and the compose file: read by linters of others, and built and run where a builder and the base image are available."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
BASE = os.environ.get("RECONCILER_TEST_BASE_IMAGE", "") or re.findall(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)[0]
"""Where the base image cannot be pulled, the variable names another one that has Python and pip."""


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in DOCKERFILE.replace("\\\n", "").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            found[rest.partition(" AS ")[2]] = []
        elif found and re.match(r"[A-Z]", word):
            found[[*found][-1]].append((word, rest.strip()))
    return found


def test_hadolint_has_nothing_to_say() -> None:
    program = shutil.which("hadolint") or shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("hadolint is not installed: install the extra dev")
    done = subprocess.run([program, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_compose_file_is_valid() -> None:
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed: install the extra dev")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(ROOT / "compose.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_an_image_runs_as_nobody_and_needs_no_shell() -> None:
    for name in ("program", "sandbox"):
        assert "RUN" not in [word for word, _ in stages()[name]]
        commands = [rest for word, rest in stages()[name] if word in ("ENTRYPOINT", "CMD", "HEALTHCHECK")]
        assert [rest for rest in commands if not rest.rpartition("CMD ")[2].startswith("[")] == []
    assert ("USER", "10001:10001") in stages()["program"]


def test_the_program_of_the_compose_file_reaches_the_sandbox_over_the_loopback_interface() -> None:
    program = COMPOSE["services"]["reconciler"]
    assert program["network_mode"] == "service:sandbox"
    assert program["environment"]["RECONCILER_BASE_URL"] == "http://127.0.0.1:8080"
    assert "8080" in " ".join(rest for word, rest in stages()["sandbox"] if word == "ENTRYPOINT")


class Builder:
    """docker, podman or buildah."""

    def __init__(self, program: str) -> None:
        self.program, self.name = program, Path(program).name
        self.containers: list[str] = []
        self.tags: list[str] = []

    def __call__(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.program, *words], cwd=ROOT, capture_output=True, text=True, **{"timeout": 600, **more})

    def build(self, target: str) -> str:
        """Build a stage; its tag."""
        tag = f"localhost/reconciler-test:{target}"
        form = [] if self.name == "docker" else ["--format=docker"]  # the other format has no HEALTHCHECK
        done = self("build", *form, f"--build-arg=BASE={BASE}", f"--target={target}", f"--tag={tag}", ".")
        assert done.returncode == 0, done.stdout + done.stderr
        self.tags.append(tag)
        return tag

    def start(self, tag: str, *words: str) -> str:
        """Start a container that runs what the image says; its name."""
        if self.name != "buildah":
            name = self("run", "--detach", "--rm", tag, *words).stdout.strip()
        else:
            name = self("from", tag).stdout.strip()
        self.containers.append(name)
        return name

    def command(self, container: str, *words: str) -> list[str]:
        """The command line that runs words in a container."""
        return [self.program, "run", container, "--", *words] if self.name == "buildah" else [self.program, "exec", container, *words]

    def config(self, tag: str) -> dict[str, Any]:
        """The configuration of an image."""
        if self.name == "buildah":
            found: dict[str, Any] = json.loads(self("inspect", "--type=image", tag).stdout)["Docker"]["config"]
        else:
            found = json.loads(self("image", "inspect", tag).stdout)[0]["Config"]
        return found

    def close(self) -> None:
        for name in self.containers:
            self("rm", *([] if self.name == "buildah" else ["--force"]), name)
        for tag in self.tags:
            self("rmi", tag)


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    """A builder that works and has the base image."""
    reasons = []
    for name in ("docker", "podman", "buildah"):
        if (program := shutil.which(name)) is None:
            reasons.append(f"{name} is not installed")
            continue
        builder = Builder(program)
        if builder("info", timeout=60).returncode:
            reasons.append(f"{name} does not work here")
        elif builder("inspect", BASE).returncode and builder("pull", BASE).returncode:
            reasons.append(f"{name} cannot pull {BASE}")
        else:
            yield builder
            builder.close()
            return
    pytest.skip("; ".join(reasons))


@pytest.mark.proof
def test_the_image_runs_the_program_as_nobody(builder: Builder) -> None:
    tag = builder.build("program")
    config = builder.config(tag)
    assert (config["Entrypoint"], config["User"], config["WorkingDir"]) == (["reconciler"], "10001:10001", "/work")
    assert config["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    words = ["init", "/work/docs", "--sandbox"]
    if builder.name == "buildah":
        container = builder.start(tag)
        commands = [
            builder.command(container, "reconciler", *words),
            builder.command(container, "reconciler", "apply", "/work/docs", "--yes"),
        ]
    else:
        commands = [[builder.program, "run", "--rm", tag, *words]]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.proof
def test_the_sandbox_becomes_healthy(builder: Builder) -> None:
    tag = builder.build("sandbox")
    config = builder.config(tag)
    word, *check = config["Healthcheck"]["Test"]
    assert word == "CMD"
    container = builder.start(tag, "--token", "secret")
    server = None
    if builder.name == "buildah":  # whose container runs nothing yet, so the check must fail
        assert subprocess.run(builder.command(container, *check), capture_output=True, timeout=60).returncode != 0
        words = builder.command(container, *config["Entrypoint"], "--token", "secret")
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        assert "listening on http://127.0.0.1:8080" in server.stdout.readline()
    try:
        assert 0 in (subprocess.run(builder.command(container, *check), capture_output=True, timeout=60).returncode for _ in range(50))
    finally:
        if server is not None:
            server.terminate()
            server.communicate()
