"""Integrations, their installations, and OpenAPI specifications."""
