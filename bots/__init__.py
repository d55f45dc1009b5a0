"""Bots: the SDK for bots in Python, the built-in bots, and adapters for other programs."""
