"""The keys of the project file that belong to features."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reconciler import exits

WITHOUT = """
import sys
from reconciler.config.sections import SECTIONS
SECTIONS.fill(*(section for section in list(SECTIONS) if section.feature != sys.argv[1]))
from reconciler.assembled import main
main(["validate", sys.argv[2]])
"""


@pytest.mark.parametrize(
    ("key", "feature"),
    [("access: []", "access"), ("use: [two-admins]", "policies"), ("urls: {redirects: [csv]}", "urls"), ("health: {topics: 3}", "health")],
)
def test_a_key_of_an_absent_feature_is_an_error_that_names_it(tmp_path: Path, key: str, feature: str) -> None:
    """It may be a rule: a run that ignored it would do what the project forbids."""
    (tmp_path / "reconciler.yaml").write_text(f"version: 1\nproject: p\n{key}\norganizations: {{acme: {{id: org_1}}}}\n")
    run = subprocess.run([sys.executable, "-c", WITHOUT, feature, str(tmp_path)], capture_output=True, text=True)
    name = key.partition(":")[0]
    assert f"reconciler.yaml:3:1  {name} belongs to the feature {feature}, which this installation does not have" in run.stderr
    assert "1 problem in the project" in run.stderr
    assert run.returncode == exits.WRONG
