"""Asserts an error by its code; the wording is pinned by tests/snapshots alone."""

from typing import TypeVar

import pytest

from ggp.protocol.errors import CodedError

E = TypeVar("E", bound=CodedError)


def raises(kind: type[E], *codes: str) -> pytest.RaisesExc[E]:
    """An error of this kind with this code, or one of several where a race decides."""
    return pytest.raises(kind, check=lambda error: error.code in codes)
