"""Tests of a project, written in YAML: what a configuration leads to on a twin of the organization.

    tests/*.yaml ── headers ──> name, with, given      before the project is known
                 ── tests   ──> steps, expectations    names in them are those of the project
    a twin that was asked ── check ──> mismatches

Pure: `features/testing/twin/running.py` runs the steps. Not here: the sandbox, files, the engine.
"""
