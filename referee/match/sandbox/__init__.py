"""The sandbox of untrusted programs: its levels, what this machine supports, and the guard, which confines them.

It is independent of matches. The guard itself is guard.c.
"""
