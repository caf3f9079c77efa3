"""What can be asked of the dashboard, a module for each subject."""
