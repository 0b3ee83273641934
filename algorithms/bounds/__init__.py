"""What no method can go below."""
