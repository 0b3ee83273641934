"""What an attacker could still learn from a masked file."""
