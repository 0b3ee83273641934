"""Disclosure risk: how much an attacker could still learn from a masked file."""
