"""What can go wrong with a store, each as one line that names the remedy. It touches no database."""


class StoreError(Exception):
    """The store cannot be used as asked; str() is one line with the remedy."""


class Locked(StoreError):
    """Another process runs this ladder, or holds the database."""


class Taken(Locked):
    """Another process has taken this one for dead and runs the ladder, or may: this one must end."""


class Full(StoreError):
    """There is no room to write. Nothing is half done; the store goes on when there is room."""


class TooNew(StoreError):
    """The store was made by a later version of this program."""
