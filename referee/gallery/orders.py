"""What the lobby says to its gallery, once, as a line of JSON."""

import msgspec


class Orders(msgspec.Struct, frozen=True):
    """`url` to listen at; the folder and the store of the ladder; `server_key` is the file of a pair, "" for none."""

    url: str
    ladder: str
    folder: str
    store: str
    server_key: str
    connections: int
