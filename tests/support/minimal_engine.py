"""Our engine without some of its commands, as a foreign one may be: `lesser_engine.py ggp-legal ggp-undo …`.

`scene=broken` among the words has it describe no position that can be drawn; `dies` has it end where
it is asked for its rules.
"""

import os
import sys

from engines.registry import Registry
from engines.service import engine_handlers
from engines.session import Handler, Session
from protocol.responder import Responder
from protocol.transports.pipe import serve_stdio


def main(words: list[str]) -> None:
    handlers: dict[str, Handler] = engine_handlers(Session(Registry()))
    if "scene=broken" in words:
        handlers["ggp-scene"] = lambda arguments: "{}"
    if "dies" in words:
        handlers["ggp-rules"] = lambda arguments: os._exit(1)
    serve_stdio(Responder("lesser", "1", {name: row for name, row in handlers.items() if name not in words}))


if __name__ == "__main__":
    main(sys.argv[1:])
