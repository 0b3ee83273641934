"""The sections of a spec, one file each."""
