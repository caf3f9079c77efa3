"""The comment of a pull request: one for all projects and environments of a repository, each of which is a part of it. Pure.

In: documents written by commands, and the present comments. Out: what to write.

    content   a document as a headline and entries
    part      a part: its text and its hidden marker, written and read
    body      parts as one comment that fits: destructive and exposing changes come first and are never omitted silently
    upkeep    which comments to create, update, delete or hide, so that no part of another job is lost
"""
