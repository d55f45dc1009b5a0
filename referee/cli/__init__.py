"""The command line: one file for each command, from arguments to one call to what is printed."""
