"""Where the work on blocks is done, and where their arrays are in the meantime."""
