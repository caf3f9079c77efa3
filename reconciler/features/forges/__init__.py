"""Comments of pull requests on GitHub, GitLab and Bitbucket. `features/forges/comment` decides which comments to write.

job        facts about a CI job, for comments, `reconciler pipeline`, the origin of saved plans; and the job that a comment is about
port       what a forge must be able to do, and what can go wrong
talk       HTTP: one attempt, retries of reads, rate limits
github, gitlab, bitbucket
keep       read, write, read back, until every part is where it belongs; one job at a time, where only one can have an object
"""
