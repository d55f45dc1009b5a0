"""Helpers that several tests use. TESTS and ROOT: the folder of the tests, and the checkout."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
