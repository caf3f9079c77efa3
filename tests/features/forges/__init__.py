"""GitHub, GitLab and Bitbucket as far as comments need them, on a real port, built from their published documentation.

In: requests over HTTP. Out: what the service answers. Nothing of `reconciler` is imported here: a fake must not share code with what it
tests. `server` is the port and the faults; `github`, `gitlab` and `bitbucket` are the services. More routes: `Forge.route`.

    with GitHub() as github:
        number = github.pull("acme/handbook")
        …  # GITHUB_API_URL=github.api, GITHUB_TOKEN=github.token()
        assert github.bodies(number) == [...]
"""

from __future__ import annotations

from tests.features.forges.bitbucket import Bitbucket
from tests.features.forges.github import GitHub
from tests.features.forges.gitlab import GitLab
from tests.features.forges.server import Fault, Forge, Sent

__all__ = ["Bitbucket", "Fault", "Forge", "GitHub", "GitLab", "Sent"]
