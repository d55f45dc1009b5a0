"""Engines of other projects as engines of this protocol. Each is imported only when it is used."""
