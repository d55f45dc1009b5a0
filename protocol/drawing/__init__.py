"""Pictures of positions, made from scenes alone. This package knows no game and trusts no scene."""
