"""Arbitrary input for every parser of strangers' text: `make fuzz` runs them, and a quick test a little of each."""
