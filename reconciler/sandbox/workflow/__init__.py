"""Conversations and translations: work that runs and ends by the service's clock."""
