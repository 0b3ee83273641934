"""The command line."""

from flows.cli.app import main

__all__ = ["main"]
