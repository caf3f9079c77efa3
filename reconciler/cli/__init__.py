"""The command line: options, questions, exit codes. Nothing of the engine is imported before a command needs it.

Each command is a module, imported when it is used: it makes an operation of its options, and a document of what a run returns. The table of
commands is in `reconciler.assembled`.
"""
