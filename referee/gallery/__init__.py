"""The gallery of a lobby: a process of its own that lets anybody look on at the matches (PROTOCOL §7, spectators)."""
