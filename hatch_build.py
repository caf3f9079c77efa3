"""What a distribution says of itself beyond pyproject.toml: where its repository is, which only the release knows (REPOSITORY_URL)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


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
