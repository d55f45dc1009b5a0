"""Helpers that several tests use. TESTS and ROOT: the folder of the tests, and the checkout."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent

# A program that joins its child's process group, so that signals to its own reach nothing. The child ends with it.
LEAVES_GROUP = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
parent, child = os.getpid(), os.fork()
while not child:
    time.sleep(0.05)
    if os.getppid() != parent:
        os._exit(0)
os.setpgid(child, child)
os.setpgid(0, child)
print("= \\n", flush=True)
time.sleep(60)
"""
