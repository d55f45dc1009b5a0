"""The games of this distribution, one file each; they are found by entry points, not by this list."""
