"""Pictures of positions, made from scenes alone: it knows no game, and trusts no scene that it is given."""
