"""The additions of `reconciler pipeline` to a command in a CI job: reports, a summary, outputs, and the approved plan.

`trigger` reads the event that started the job from the variables of GitHub Actions and GitLab CI, `approved` downloads a plan through their
API, `works` runs the command, and `results` writes its results where the CI shows them.
"""
