"""`ggp watch`: looks on at the matches of a lobby, in a terminal or for a script. It knows no game."""
