"""Where the files of projects come from: commits of git repositories, which are not trusted."""
