"""Improving groups by small moves: what they lose, single moves, and ruin and recreate."""
