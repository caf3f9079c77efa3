"""Edits of YAML files that people wrote: comments, order and quotes of everything else are unchanged.

Own code, because round-trip libraries (ruamel.yaml) reformat the whole file on every edit; see decision 0005.
"""
