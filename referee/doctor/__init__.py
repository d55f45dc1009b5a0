"""`ggp doctor`: what this machine offers to this user."""
