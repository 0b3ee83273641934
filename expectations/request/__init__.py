"""The request: the spec, its file, and how a run tightens it."""
