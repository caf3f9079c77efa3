"""YAML files that people wrote, changed where something must change: comments, order and quotes of all the rest stay as they are."""
