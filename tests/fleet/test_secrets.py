"""Secrets of a project in a fleet: the run gets them by reference, and what the fleet keeps contains none of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.fleet.running import running
from tests.sops import real

BILLING, CHARTS = "canary-billing-7f3A9qZ", "canary-charts-0pX8aa"
INTEGRATION = """\
    integrations:
      a-charts:
        title: Charts
        description: Charts of your own data
        visibility: private
        scopes: ["space:content:read"]
        script: "export default {}"
        secrets: {billing: "${{ secrets.billing }}", charts: "${{ vars.charts }}"}
    content:
"""


@pytest.mark.proof
@pytest.mark.timeout(300)
def test_a_project_with_encrypted_files_and_a_secret_variable_is_planned_and_nothing_of_them_is_kept(
    tmp_path: Path, fleet_url: str
) -> None:
    pytest.importorskip("procrastinate", reason="the extra `fleet` is not installed")
    sops = real(tmp_path / "sops")
    with running(tmp_path, fleet_url, ["a"]) as fleet:
        fleet.environ |= {"PATH": sops.env["PATH"], "ACME_CHARTS": CHARTS}
        fleet.write("a")
        file = fleet.remote / "a/reconciler.yaml"
        text = file.read_text().replace("    content:\n", INTEGRATION)
        file.write_text(text.replace("vars: {", "secrets: secrets.enc.yaml\nvars: {charts: {env: RECONCILER_VAR_CHARTS}, "))
        sops.encrypt(fleet.remote / "a/secrets.enc.yaml", {"billing": BILLING})
        fleet.git("add", "-A")
        fleet.git("commit", "-q", "-m", "secrets")
        key = {"SOPS_AGE_KEY": {"file": sops.env["SOPS_AGE_KEY_FILE"]}}
        secret = {"CHARTS": {"env": "ACME_CHARTS"}}
        one = {"name": "a", "source": {"path": "a"}, "mode": "plan", "vars": {"who": "a"}}
        fleet.declare({**one, "secretVars": secret})
        fleet.worker()
        fleet.until(lambda: "RC-" in fleet.status()["a"]["causes"][0])  # there is no key
        fleet.declare({**one, "secretVars": secret, "sops": key})
        fleet.environ |= {**sops.env, "RECONCILER_VAR_CHARTS": CHARTS}
        fleet.applied("a")
        fleet.until(lambda: fleet.status()["a"]["status"] == "Synced")
        sops.encrypt(fleet.remote / "a/secrets.enc.yaml", {"billing": f"{BILLING}-next"})
        fleet.git("commit", "-qam", "another secret")
        fleet.call("fleet", "sync", "a", "--wait", code=2)
        assert fleet.status()["a"]["reading"]["ahead"] == 1
        dump = subprocess.run(["pg_dump", "--inserts", fleet.url], capture_output=True, text=True, check=True).stdout
        logs = "".join(path.read_text() for path in tmp_path.glob("fleet-*.log"))
    assert "a-charts" in dump
    assert "canary" not in dump + logs
