"""A recorder between a program and its caller."""
