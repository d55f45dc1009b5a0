"""The store of a ladder: its values, its tables, and all SQL."""
