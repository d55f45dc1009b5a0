"""Records after the match: verify, show, export, import."""
