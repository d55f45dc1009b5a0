"""Transports for bytes: pipes to a child process, ZeroMQ, Unix sockets, memory, and a transcript around any of them."""
