"""Drafts a spec from a table: guesses with a reason each, counts, and no value of the table."""
