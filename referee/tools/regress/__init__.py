"""GTP regression tests."""
