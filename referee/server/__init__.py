"""Servers: the lobby that bots dial in to, the web pages, the control of a running referee."""
