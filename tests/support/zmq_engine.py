"""A stranger's engine that knows ZeroMQ and no other address: `zmq_engine.py --bind URL`."""

import sys

from engines.registry import Registry
from engines.service import make_responder
from engines.session import Session
from protocol.transports.signal_fd import Stopping
from protocol.transports.zmq import Service

_, option, url = sys.argv
assert option == "--bind"
if url.startswith("unix:"):
    sys.exit(f"no such transport: {url}")
with Stopping() as stopping:
    Service(url, lambda: make_responder(Session(Registry()))).serve(stopping)
