"""What stages write to."""
