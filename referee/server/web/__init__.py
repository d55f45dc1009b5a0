"""HTML pages: the static report."""
