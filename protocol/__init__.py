"""The General Game Protocol (GGP 1): GTP version 2 unchanged on the wire, plus commands that begin with `ggp-`.

This package imports nothing else of the project. Its inside is sans-IO: it never waits and never reads a clock.
"""
