"""Ladders and tournaments: configuration, schedule, pairing, the run, standings."""
