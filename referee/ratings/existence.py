"""Whether every likeliest rating is finite, seen from who scored against whom; a prior makes it always so.

L. R. Ford (1957): the estimate exists if, however the bots are split in two, each side has scored against the
other. That is: the graph "scored against" is strongly connected.
"""

from collections.abc import Sequence

import numpy as np

from referee.ratings.counts import Matrix


def why_infinite(names: Sequence[str], counts: Matrix) -> str:
    """ "" or a sentence that names a bot whose rating is infinite, or two that no chain of games connects."""
    beat = _edges(len(names), counts)
    both: list[set[int]] = [set() for _ in names]
    for one, others in enumerate(beat):
        for other in others:
            both[one].add(other)
            both[other].add(one)
    apart = set(range(len(names))) - _reached(both)
    if apart:
        return f"no chain of games connects {names[0]} and {names[min(apart)]}: their difference has no estimate"
    components = strong_components(beat)
    if len(components) == 1:
        return ""
    ends = {end: [part for part in components if _leads_nowhere(part, way)] for end, way in _ways(beat).items()}
    end, part = min(((end, part) for end in ends for part in ends[end]), key=lambda found: len(found[1]))
    name, more = names[min(part)], len(part) - 1
    among = f" (and of the {more} others that scored against it and each other)" if more else ""
    reason = "no other bot scored against it" if end == "above" else "it scored against no other bot"
    sign = "infinite" if end == "above" else "minus infinite"
    return f"the rating of {name}{among} is {sign}: {reason.replace('it', 'them') if more else reason}"


def strong_components(beat: Sequence[set[int]]) -> list[list[int]]:
    """The strongly connected components of a graph (Tarjan 1972), without recursion."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    waiting = set[int]()
    found: list[list[int]] = []
    for root in range(len(beat)):
        if root in order:
            continue
        work = [(root, iter(beat[root]))]
        while work:
            node, others = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                stack.append(node)
                waiting.add(node)
            for other in others:
                if other not in order:
                    work.append((other, iter(beat[other])))
                    break
                if other in waiting:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    cut = stack.index(node)
                    found.append(stack[cut:])
                    waiting -= set(stack[cut:])
                    del stack[cut:]
    return found


def _edges(size: int, counts: Matrix) -> list[set[int]]:
    """Of every bot: against whom it won or tied."""
    beat: list[set[int]] = [set() for _ in range(size)]
    for scored, one, other in (
        (counts.wins + counts.ties > 0, counts.first, counts.second),
        (counts.losses + counts.ties > 0, counts.second, counts.first),
    ):
        for winner, loser in np.stack([one[scored], other[scored]], axis=1).tolist():
            beat[winner].add(loser)
    return beat


def _ways(beat: Sequence[set[int]]) -> dict[str, list[set[int]]]:
    """Who scored against a bot; against whom it scored."""
    lost: list[set[int]] = [set() for _ in beat]
    for one, others in enumerate(beat):
        for other in others:
            lost[other].add(one)
    return {"above": lost, "below": list(beat)}


def _leads_nowhere(part: Sequence[int], way: Sequence[set[int]]) -> bool:
    inside = set(part)
    return all(way[one] <= inside for one in part)


def _reached(graph: Sequence[set[int]]) -> set[int]:
    seen, todo = {0}, [0]
    while todo:
        new = graph[todo.pop()] - seen
        seen |= new
        todo += new
    return seen
