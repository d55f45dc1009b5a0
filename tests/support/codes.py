"""Asserts an error by its code; the wording is pinned by tests/snapshots alone."""

from typing import TypeVar

import pytest

from protocol.errors import CodedError

E = TypeVar("E", bound=CodedError)


def raises(kind: type[E], code: str) -> pytest.RaisesExc[E]:
    return pytest.raises(kind, check=lambda error: error.code == code)
