"""The comment of a pull request: one for all projects and environments of a repository, each of which is a part of it. Pure.

In: sheets, and the present comments. Out: what to write. No job knows the whole comment, so each reads it, replaces its own part, and
writes the rest back byte for byte.

    part      a part: a sheet as text between two hidden markers, written and read
    body      parts as one comment that fits: urgent entries come first and are never omitted silently
    upkeep    which comments to create, update, delete or hide, so that no part of another job is lost
"""
