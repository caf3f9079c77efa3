"""What runs a fleet elsewhere: units, the compose file and manifests, read by programs of others; their commands and options exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from reconciler.assembled import main

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of the program that these files start."""
    for path in UNITS:
        line = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("ExecStart="))
        yield path.name, line.split()[1:]
    for name, service in documents(DEPLOY / "compose.yaml")[0]["services"].items():
        if "command" in service:
            yield f"compose.yaml: {name}", service["command"]
    for path in MANIFESTS:
        for document in documents(path):
            for container in document["spec"].get("template", {}).get("spec", {}).get("containers", ()):
                yield f"{path.name}: {document['kind']}", container["args"]


@pytest.mark.parametrize(("where", "words"), list(commands()))
def test_a_command_that_is_started_exists_with_its_options(where: str, words: list[str]) -> None:
    options = [word for word in words if word.startswith("--")]
    shown = CliRunner().invoke(main, [*words[:2], "--help"])
    assert shown.exit_code == 0, where
    assert [option for option in options if option not in shown.output] == [], where


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_accepts_a_unit(path: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: install Debian's systemd")
    there = tmp_path / path.name  # with a program that exists here
    there.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    done = subprocess.run([program, "verify", "--man=no", "--recursive-errors=no", there], capture_output=True, text=True, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if path.name in line]) == (0, [])


def test_the_compose_file_is_valid() -> None:
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed: install the extra dev")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def refused(document: Any) -> str | None:
    """What Kubernetes' models, made from its own schemas, say against a manifest; they leave out fields that there are not."""
    msgspec = pytest.importorskip("msgspec", reason="lightkube is not installed: install the extra dev")
    group, _, version = document["apiVersion"].rpartition("/")
    models = import_module(f"lightkube.models.{group.partition('.')[0] or 'core'}_{version}")
    try:
        taken = msgspec.convert(document, getattr(models, document["kind"]))
    except msgspec.ValidationError as error:
        return str(error)
    return next((f"there is no {place}" for place in differences(document, msgspec.to_builtins(taken), "$")), None)


def differences(given: Any, taken: Any, at: str) -> Iterator[str]:
    if isinstance(given, dict) and isinstance(taken, dict):
        for key, value in given.items():
            yield from differences(value, taken.get(key), f"{at}.{key}")
    elif isinstance(given, list) and isinstance(taken, list):
        for index, (value, other) in enumerate(zip(given, taken, strict=True)):
            yield from differences(value, other, f"{at}[{index}]")
    elif given != taken:
        yield at


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_kubernetes_accepts_a_manifest(path: Path) -> None:
    for document in documents(path):
        assert refused(document) is None
        pod = document["spec"].get("template", {}).get("spec")
        if pod is not None:
            assert pod["securityContext"]["runAsNonRoot"]
            assert not pod["automountServiceAccountToken"]
            assert all(container["securityContext"]["readOnlyRootFilesystem"] for container in pod["containers"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"securtyContext": {}}, "there is no $.spec.template.spec.containers[0].securtyContext"),
        ({"image": 3}, "Expected `str | null`, got `int` - at `$.spec.template.spec.containers[0].image`"),
        ({"ports": [{"name": "http"}]}, "Object missing required field `containerPort` - at `$.spec.template.spec.containers[0].ports[0]`"),
    ],
)
def test_a_wrong_manifest_would_be_refused(change: Mapping[str, Any], why: str) -> None:
    document = next(document for path in MANIFESTS for document in documents(path) if document["kind"] == "Deployment")
    document["spec"]["template"]["spec"]["containers"][0] |= change
    assert refused(document) == why


def test_workers_and_the_dashboard_are_what_services_and_policies_select() -> None:
    every = [document for path in MANIFESTS for document in documents(path)]
    labels = [document["metadata"]["labels"] for document in every if document["kind"] == "Deployment"]
    assert len(labels) == 2
    selectors = [
        document["spec"].get("podSelector", document["spec"].get("selector"))
        for document in every if document["kind"] in ("Service", "NetworkPolicy", "PodDisruptionBudget")
    ]  # fmt: skip
    exact = [selector.get("matchLabels", selector) for selector in selectors if "matchExpressions" not in selector]
    assert [selector for selector in exact if selector not in labels] == []


def components() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every pod of the manifests, by its component."""
    for path in MANIFESTS:
        for document in documents(path):
            template = document["spec"].get("template")
            if template is not None:
                yield template["metadata"]["labels"]["app.kubernetes.io/component"], template["spec"]


def secrets_of(pod: dict[str, Any]) -> set[str]:
    return {source["secretRef"]["name"] for container in pod["containers"] for source in container.get("envFrom", ())}


def test_the_dashboard_has_none_of_the_secrets_of_the_workers() -> None:
    pods = dict(components())
    assert pods.keys() == {"worker", "serve", "apply"}
    assert secrets_of(pods["serve"]).isdisjoint(secrets_of(pods["worker"]) | secrets_of(pods["apply"]))
    services = documents(DEPLOY / "compose.yaml")[0]["services"]
    assert "ACME_TOKEN" in services["worker"]["environment"]
    assert services["serve"]["environment"].keys() == {"RECONCILER_DATABASE", "FLEET_OIDC_SECRET", "FLEET_HOOK_SECRET"}
    assert "ACME_TOKEN" not in str(services["postgres"])
    units = {path.stem.rpartition("-")[2]: path.read_text(encoding="utf-8") for path in UNITS}
    for word in ("User", "EnvironmentFile"):
        values = {re.search(rf"^{word}=(.*)$", unit, re.MULTILINE)[1] for unit in units.values()}  # type: ignore[index]
        assert len(values) == len(units) == 2, word
    assert "TOKEN" not in re.sub(r"^#.*$", "", (DEPLOY / "systemd/serve.env").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_every_pod_has_a_policy_for_what_it_may_ask_and_none_reaches_a_clouds_credentials() -> None:
    for policy in [document["spec"] for document in documents(DEPLOY / "kubernetes/network.yaml")]:
        assert sorted(policy["policyTypes"]) == ["Egress", "Ingress"]
        blocks = [peer["ipBlock"] for rule in policy["egress"] for peer in rule.get("to", ())]
        assert blocks
        assert all("169.254.0.0/16" in block["except"] for block in blocks if block["cidr"] == "0.0.0.0/0")
        assert all(rule["ports"] for rule in policy["egress"])
    text = (DEPLOY / "kubernetes/network.yaml").read_text(encoding="utf-8")
    assert {name for name, _ in components() if re.search(rf"component(: |.*values: \[.*)\b{name}\b", text)} == {"worker", "serve", "apply"}
    assert all("IPAddressDeny=link-local" in path.read_text(encoding="utf-8") for path in UNITS)
