"""Where a fleet is the program itself: it reads services, compares versions of projects, plans, rehearses and applies.

child      the process of a run, which the worker starts, and asks by its arguments; it answers with documents
plans      the plans of all projects from one commit to another, for `fleet preview`
listing    the lists of generators: directories of repositories, organizations of tokens
budgeted   the token's budget for these lists

Nothing else of a fleet, except its commands, imports what reads, plans or applies: it knows projects by their documents.
"""
