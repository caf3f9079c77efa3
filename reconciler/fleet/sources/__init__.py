"""The sources of projects' files: commits of git repositories, which are not trusted."""
