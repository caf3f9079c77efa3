"""Plans of files alone: what a service would show if a version of the files had been applied to it."""
