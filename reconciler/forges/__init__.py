"""Comments of pull requests on GitHub, GitLab and Bitbucket. `report/comment` decides which comments to write.

variables  facts about a CI job, for comments, `reconciler pipeline`, the origin of saved plans
job        the job that a comment is about: the forge, its API, the pull request, the commit, the run
port       what a forge must be able to do, and what can go wrong
talk       HTTP: one attempt, retries of reads, rate limits
github, gitlab, bitbucket
keep       read, write, read back, until every part is where it belongs
turn       one job at a time, on forges with an object that only one job can have
"""
