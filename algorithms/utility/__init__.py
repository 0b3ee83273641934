"""What a masked file lost."""
