"""The token bucket: a burst, then the rate; refusals, debts, and a clock that runs backward."""

import math

from hypothesis import given
from hypothesis import strategies as st

from ggp.protocol.token_bucket import TokenBucket


def test_a_burst_then_the_rate() -> None:
    bucket = TokenBucket(2, 3, 10.0)
    assert [bucket.try_consume(1, 10.0) for _ in range(4)] == [True, True, True, False]
    assert not bucket.try_consume(1, 10.4) and bucket.try_consume(1, 10.5)
    assert [bucket.try_consume(1, 100.0) for _ in range(4)] == [True, True, True, False], "it holds its capacity"


def test_a_debt_is_paid_at_the_rate() -> None:
    bucket = TokenBucket(2, 3, 0.0)
    assert bucket.delay(0.0) == 0
    assert bucket.consume(3, 0.0) and not bucket.consume(4, 0.0)
    assert bucket.available(0.0) == -4 and bucket.delay(0.0) == 2
    assert bucket.delay(1.5) == 0.5 and bucket.delay(3.0) == 0 and bucket.available(9.0) == 3


def test_a_clock_that_runs_backward_adds_no_tokens() -> None:
    bucket = TokenBucket(1, 1, 10.0)
    assert bucket.try_consume(1, 10.0) and not bucket.try_consume(1, 5.0)
    assert bucket.try_consume(1, 6.0)


def test_an_unlimited_bucket_never_refuses() -> None:
    bucket = TokenBucket(math.inf, math.inf, 0.0)
    assert all(bucket.consume(10**9, 0.0) for _ in range(3)) and bucket.consume(10**9, 1.0)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 10)), max_size=50))
def test_no_more_passes_than_the_burst_and_the_rate(requests: list[tuple[float, float]]) -> None:
    bucket, now, passed = TokenBucket(2, 8, 0.0), 0.0, 0.0
    for pause, tokens in requests:
        now += pause
        passed += tokens if bucket.try_consume(tokens, now) else 0
    assert passed <= 8 + 2 * now + 1e-6
