"""What keeps a stranger's program from everything but its game: levels, what this machine offers, the guard.

It knows nothing of matches. The guard itself is guard.c.
"""
