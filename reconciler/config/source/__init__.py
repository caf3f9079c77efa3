"""The files of a project as text and as nodes with file, line and column. No expression is evaluated here."""
