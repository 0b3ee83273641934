"""All the statistics: arrays in, arrays and figures out, and no knowledge of files or flows."""
