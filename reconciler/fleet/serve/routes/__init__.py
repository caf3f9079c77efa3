"""The endpoints of the dashboard, a module for each subject."""
