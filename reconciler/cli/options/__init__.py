"""Options that several commands share."""

from __future__ import annotations

from reconciler.cli.declare import Decorator as Decorator
from reconciler.cli.declare import address as address
from reconciler.cli.option_table import Options as Options
from reconciler.cli.options.project import compared as compared
from reconciler.cli.options.project import nearest_project as nearest_project
from reconciler.cli.options.project import project as project
from reconciler.cli.options.project import project_argument as project_argument
from reconciler.cli.options.project import project_option as project_option
from reconciler.cli.options.project import project_path as project_path
from reconciler.cli.options.project import run_argument as run_argument
from reconciler.cli.options.run import absences as absences
from reconciler.cli.options.run import creating as creating
from reconciler.cli.options.run import exposures as exposures
from reconciler.cli.options.run import guards as guards
from reconciler.cli.options.run import of_child as of_child
from reconciler.cli.options.run import output as output
from reconciler.cli.options.run import reading as reading
from reconciler.cli.options.run import rules as rules
from reconciler.cli.options.run import selection as selection
from reconciler.cli.options.run import service as service
from reconciler.cli.options.run import state as state
from reconciler.cli.options.run import targets as targets
from reconciler.cli.options.run import yes as yes
