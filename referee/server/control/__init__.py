"""The referee as a responder: `ggp referee` and `ggp ladder run --control`."""
