"""The ways that bytes travel: a pipe to a child process, ZeroMQ, memory; and a transcript that wraps any of them."""
