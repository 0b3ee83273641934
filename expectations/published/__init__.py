"""Of the bytes: what a published folder claims, and whether it holds."""
