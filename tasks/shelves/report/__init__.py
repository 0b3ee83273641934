"""Pages for people: one file each, which asks nothing of any network."""
