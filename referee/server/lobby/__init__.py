"""The ZeroMQ server: socket, sessions, authentication, matchmaking, challenges, spectators; connect and keys."""
