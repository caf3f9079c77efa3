"""Comments of pull requests on GitHub, GitLab and Bitbucket. Which comments there should be is decided in `report/comment`.

variables  what the CI says of its job, for all who ask: comments, `reconciler pipeline`, the origin of saved plans
job        the job as a comment needs it: the forge, its API, the pull request, the commit, the run
port       what a forge must be able to do, and what can go wrong
talk       HTTP: one attempt, retries of reads, rate limits
github, gitlab, bitbucket
keep       read, write, read back, until every part is where it belongs
turn       one job at a time, where the forge has something that only one can have
"""
