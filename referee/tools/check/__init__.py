"""Compliance checks of bots and engines."""
