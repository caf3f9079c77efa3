"""Whole documents of commands, on organizations with two of everything, as files that people review.

python -m tests.whole    write the files of `documents/` again; read the difference before it is committed
"""
