"""The desk: its frame, its pages, and attacks on both."""
