"""A cache that is bounded by bytes."""

from ggp.referee.server.web.sized_cache import SizedCache


def test_what_was_used_longest_ago_makes_room() -> None:
    cache = SizedCache[str, int](100)
    for number, name in enumerate("abc"):
        cache.put(name, number, 40)
    assert [cache.get(name) for name in "abc"] == [None, 1, 2]
    assert cache.get("b") == 1
    cache.put("d", 3, 40)
    assert [cache.get(name) for name in "bcd"] == [1, None, 3]
    cache.put("big", 4, 1000)
    assert [cache.get(name) for name in ("b", "d", "big")] == [None, None, 4]


def test_a_value_that_is_put_again_or_forgotten_counts_once() -> None:
    cache = SizedCache[str, int](100)
    for size in (60, 60, 30):
        cache.put("a", size, size)
    cache.put("b", 1, 70)
    assert (cache.get("a"), cache.get("b")) == (30, 1)
    cache.forget("b")
    cache.forget("none")
    cache.put("c", 2, 70)
    assert [cache.get(name) for name in "abc"] == [30, None, 2]
