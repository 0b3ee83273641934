"""Exploration: tries methods, paths and k on one table, and publishes nothing."""
