"""Hostile bots: programs that play legally and attack, one function each; tests/system/test_zoo.py runs them."""

from tests.system.zoo import bounds, ends, files, idle, network, others
from tests.system.zoo.prey import ATTACKS, Attack

__all__ = ["ATTACKS", "Attack", "bounds", "ends", "files", "idle", "network", "others"]
