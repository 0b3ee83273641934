"""How the value that stands for a group is found."""
