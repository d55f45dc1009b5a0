"""A little arbitrary input for every parser of strangers' text; `make fuzz` gives more."""

import pytest

from tests.fuzz.__main__ import run
from tests.fuzz.targets import TARGETS, FuzzTarget


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_a_parser_takes_any_input_or_refuses_it_as_it_promises(target: FuzzTarget) -> None:
    assert run(target, seed=24, seconds=60, most=60)


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_a_parser_takes_its_samples(target: FuzzTarget) -> None:
    """Most of them are valid: else little behind the first check would be reached."""
    taken = 0
    for sample in target.samples():
        try:
            target.take(sample)
            taken += 1
        except target.promised:
            continue
    assert taken
