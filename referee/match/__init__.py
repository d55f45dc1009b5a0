"""One match, its processes and a series of matches."""
