"""Suites of rules for tables: the input and the published table."""
