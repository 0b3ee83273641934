"""Engines, the scratch folder, and a real cluster."""
