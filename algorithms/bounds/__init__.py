"""Lower bounds of the loss of any method."""
