"""The lobby: the server that bots dial in to, and what goes with it (PROTOCOL §7)."""
