"""Metamorphic tests: how the plans and results of random organizations must relate, whatever they are."""
