"""One test for each row of the reference, named after it; `test_rows.py` knows the rows."""
