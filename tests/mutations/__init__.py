"""Random small wrong changes of the program, and whether the tests that call the changed function notice them.

python -m tests.mutations                     the sample of `tool.mutation` in pyproject.toml, with its score by room
python -m tests.mutations --room plan --count 20 --seed 3
"""
