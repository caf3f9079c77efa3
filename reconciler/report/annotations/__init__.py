"""Findings for the programs that show them beside the lines of a pull request: GitHub, JUnit, SARIF and GitLab's Code Quality."""
