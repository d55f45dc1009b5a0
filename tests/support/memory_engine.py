"""Our engine in this process, as the referee asks one; no process, no waiting."""

from engines.registry import Registry
from engines.service import make_responder
from engines.session import Session
from protocol.connection import PeerRole
from protocol.transports.blocking import run_blocking
from referee.play.engine import Engine
from tests.support.memory_match import BUDGETS, MemoryPeer


def engine() -> Engine:
    found = Engine(MemoryPeer(make_responder(Session(Registry())), PeerRole.ENGINE), "memory", BUDGETS)
    run_blocking(found.start())
    return found
