"""The tests of a project, run on a twin of the service."""
