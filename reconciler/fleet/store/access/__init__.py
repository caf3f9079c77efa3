"""Who may do what in the database of a fleet: the roles of PostgreSQL for workers, dashboards and runs."""
