"""Databases as sources: where their addresses are kept, and one module per engine."""
