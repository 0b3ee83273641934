"""Tables too large for memory: every stage works on parts of them in the scratch folder."""
