"""Local search: improves groups by single moves, and by ruin and recreate."""
