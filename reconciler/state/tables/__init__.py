"""The tables of the state database, their migrations, and values of the model as rows."""
