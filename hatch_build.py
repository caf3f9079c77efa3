"""How a distribution is built: hatchling, and what only a build knows or adds.

The metadata say where the repository is if the release says so (REPOSITORY_URL). A wheel contains every JSON Schema and the service's
OpenAPI document, which the program itself writes; so what the program needs is required to build a wheel, but not for an editable
installation, where `reconciler schema NAME` prints them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling import build as hatchling
from hatchling.build import *  # noqa: F403  the other functions of a build backend
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What hatchling requires, and what the program and its sandbox do."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = hatchling.get_requires_for_build_wheel(config_settings)
    return [*required, *project["dependencies"], *project["optional-dependencies"]["sandbox"]]


class Schemas(BuildHookInterface):
    """Adds the schemas to a wheel, as `reconciler/schemas/`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        writer = "import sys; from pathlib import Path; from reconciler.cli.commands.schema import write_all; write_all(Path(sys.argv[1]))"
        subprocess.run([sys.executable, "-B", "-c", writer, self.folder.name], cwd=self.root, check=True)  # noqa: S603  our own program
        build_data["force_include"][self.folder.name] = "reconciler/schemas"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


class Release(MetadataHookInterface):
    """Adds the URLs of the repository, and lets the links of the README lead there. Without REPOSITORY_URL nothing is added."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
        if repository:
            files = f"blob/v{metadata['version']}"
            text = re.sub(r"\]\((?!\w+:|#)([^)\s]+)\)", rf"]({repository}/{files}/\1)", text)
            text = re.sub(r"(!\[[^\]]*\])\((\S+)/blob/(\S+)\)", r"\1(\2/raw/\3)", text)
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{repository}/{files}/README.md#documentation",
                "Changelog": f"{repository}/{files}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
