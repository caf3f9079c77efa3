"""YAML files that people wrote, changed where something must change: comments, order and quotes of all the rest stay as they are.

Own code, because round-trip libraries (ruamel.yaml) lay out the whole file again on every edit; see decision 0005.
"""
