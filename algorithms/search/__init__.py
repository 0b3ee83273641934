"""Finds records among those that are still free."""
