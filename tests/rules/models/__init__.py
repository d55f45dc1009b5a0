"""The rules again: one plain model per game, written from the rules alone, to be walked beside the core; no engine."""
