"""Of what is asked: the spec, its file, and how a run tightens it."""
