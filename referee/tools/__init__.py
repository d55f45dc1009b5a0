"""Tools for authors and operators: checks, console, regression tests, records."""
