"""Who can read what, asked of single readers: the tests of a project, and the review that `reconciler access` prints. Pure."""
