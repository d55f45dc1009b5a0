"""Engines of other projects as engines of this protocol. Nothing here is imported where it is not asked for."""
