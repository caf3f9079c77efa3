"""A hundred wrong uses of the language, one sentence for each: `python -m tests.wrong_uses` prints them to be read."""
