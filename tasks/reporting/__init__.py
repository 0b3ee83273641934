"""Pages, pictures and artefacts."""
