"""The games of this distribution, one file each. Entry points find them, not this package."""
