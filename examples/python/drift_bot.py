"""A bot for a schedule: what was changed outside Reconciler becomes a pull request. Run it in a clone of the repository of the project.

GITHUB_TOKEN=… RECONCILER_TOKEN=… python drift_bot.py PROJECT OWNER/REPOSITORY
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import reconciler

BRANCH = "drift"


def main(folder: str, repository: str) -> str:
    """The URL of the new request; "" if there is nothing to propose."""
    with reconciler.open(folder) as project:
        drift = project.drift()
        if not drift.groups:
            return ""
        try:
            accepted = project.accept()  # the files as they would have to be; an exposure needs consent, which a bot does not give
        except reconciler.Refused as refused:
            return f"Somebody must decide: {refused.message}"
        if not accepted.lines:
            return f"Somebody must decide: {accepted}"
        git(project.path, "switch", "--quiet", "--force-create", BRANCH)
        git(project.path, "commit", "--quiet", "--all", "--message", f"Accept what was changed in {project.name}")
        git(project.path, "push", "--quiet", "--force", "origin", BRANCH)
    body = {"title": f"Drift of {project.name}", "head": BRANCH, "base": "main", "body": f"{accepted}\n\n```text\n{drift}```"}
    return str(post(f"/repos/{repository}/pulls", body)["html_url"])


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def post(path: str, body: dict[str, str]) -> dict[str, object]:
    """The answer of GitHub."""
    request = urllib.request.Request(
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        made: dict[str, object] = json.load(answer)
        return made


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
