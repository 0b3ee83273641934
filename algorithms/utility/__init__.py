"""Utility: how much information a masked file lost."""
