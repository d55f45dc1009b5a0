"""Rules engines: the interface of a game, the service that answers for one, and the games. It plays no matches."""
