"""`python -m reconciler`."""

from reconciler.cli import main

if __name__ == "__main__":
    main(prog_name="reconciler")
