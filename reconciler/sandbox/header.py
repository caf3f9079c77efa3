"""The header with which a program opens the door of a sandbox and stays a reader without a token. Imports no package."""

from typing import Final

SECRET: Final = "X-Sandbox-Secret"  # noqa: S105  the name of a header
