"""Expressions and variables of the YAML language: `${{ … }}`, functions, operators, limits."""
