"""What is written, whole or not at all."""
