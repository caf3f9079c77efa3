"""The project of a command that needs no service."""

from __future__ import annotations

from typing import Any

from reconciler.cli.options import Options
from reconciler.cli.terminal.screen import Screen
from reconciler.cli.terminal.voice import TerminalVoice
from reconciler.config import Project
from reconciler.kinds import load as load_kinds
from reconciler.resource import Kinds
from reconciler.run.loading import load


def loaded(screen: Screen, options: Options, kinds: Kinds | None = None, **settings: Any) -> Project:
    """The project, read from its files. `settings`: see `load`. Raises `ConfigError`."""
    return load(options.operation, TerminalVoice(screen), kinds or load_kinds(), **settings)
