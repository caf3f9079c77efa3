"""`python -m reconciler`. The command `reconciler` is better: for `-m`, Python looks for modules in the current directory first, also for
this package.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current directory: from here on, nothing is imported from it

from reconciler.assembled import main

if __name__ == "__main__":
    main(prog_name="reconciler")
