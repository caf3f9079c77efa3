"""What `reconciler pipeline` adds to a command in a CI job: reports, a summary, outputs, and the plan that was approved.

`trigger` reads what started the job from the variables of GitHub Actions and GitLab CI, `approved` downloads a plan through their API,
`works` runs the command, and `results` writes what it said where the CI shows it.
"""
