"""Adds games to a store until it is killed, or until it is full: `store_program.py URL [--until-full] [--room=N]`.

After every batch it prints how many games are stored for certain.
"""

import resource
import sys

from referee.store.model import FormatKind, Full
from referee.store.store import Store
from tests.support.stores import ladder, match, pairings


def main(url: str, options: list[str]) -> int:
    """Goes on where it was; the games of a batch come in odd groups."""
    until_full = "--until-full" in options
    with Store.open(url, create=True) as store:
        (pool,) = store.enrol(ladder()).values()
        names = {seat.id: seat.name for seat in store.seats(pool)}
        for option in options:
            if option.startswith("--room="):
                most = int(option.removeprefix("--room="))
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        sure = store.totals().games
        try:
            while True:
                if not store.open_pairs(pool):
                    store.issue(pool, store.past(pool, FormatKind.LADDER).batches, pairings(store, pool, 10))
                left = [(pair, game) for pair in store.open_pairs(pool) for game in (0, 1) if game not in pair.played]
                for start in range(0, len(left), 7):
                    group = left[start : start + 7]
                    store.add(
                        [
                            match(pair, game, plies=40, names=(names[pair.first], names[pair.second]))
                            for pair, game in group
                        ]
                    )
                    sure += len(group)
                    print(sure, flush=True)
        except Full as error:
            if not until_full:
                raise
            assert store.totals().games == sure, "a failed transaction is half done"
            print(sure)
            print(f"Full: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
