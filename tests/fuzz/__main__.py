"""`python -m tests.fuzz [--seconds 60] [--seed 1] [TARGET …]`: changed samples for every parser, one line each.

So many seconds of all targets together. The first input that makes a parser raise what it does not promise, or take
longer than a second, is written to build/fuzz and ends the run with exit status 1.
"""

import argparse
import random
import sys
import time
import traceback
from collections.abc import Sequence

from tests.fuzz.targets import TARGETS, FuzzTarget
from tests.support import ROOT

MOST = 20_000  # bytes of an input
SLOW = 1.0  # seconds of processor time of one input
PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xc3\x28",
        b"\n\n",
        b"\r",
        b"\t",
        b" ",
        b"=",
        b"? ",
        b"#",
        b'"',
        b"\\",
        b"{",
        b"[",
        b"(;",
        b"]",
    ),
    *(b"-1", b"0", b"1e999", b"9" * 30, b"null", b"true", b"NaN", b"\\u0000", b"\\ud800", b"../", b"/dev/zero", b"a=b"),
    *(b"pass", b"resign", b"genmove b", b"black", b"W+F", b"\x1b[2J", "é\u202e".encode(), b"[[" * 2000, b"{" * 2000),
)


class FuzzFailure(Exception):
    """An input that a parser does not take as it promises."""

    def __init__(self, target: FuzzTarget, data: bytes, reason: str) -> None:
        super().__init__(f"{target.name}: {reason}")
        self.target, self.data, self.reason = target, data, reason


def changed(chance: random.Random, samples: Sequence[bytes]) -> bytes:
    """A sample with a few changes."""
    data = bytearray(chance.choice(samples))
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 2, 8, 64)))
        match chance.randrange(7):
            case 0:
                data[at:end] = chance.randbytes(end - at)
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = chance.choice(PIECES)
            case 3:
                data[at:end] = chance.choice(PIECES)
            case 4:
                data[at:at] = data[at:end] * chance.choice((1, 2, 50))
            case 5:
                other = chance.choice(samples)
                data[at:] = other[chance.randrange(len(other) + 1) :]
            case _:
                del data[at:]
    return bytes(data[:MOST])


def run(target: FuzzTarget, seed: int, seconds: float, most: int = 10**9) -> int:
    """How many inputs it took. Raises FuzzFailure."""
    chance, samples = random.Random(f"{seed} {target.name}"), target.samples()
    end, count = time.monotonic() + seconds, 0
    while count < most and time.monotonic() < end:
        data = changed(chance, samples) if count >= len(samples) else samples[count]
        began = time.process_time()
        try:
            target.take(data)
        except target.promised:
            pass
        except Exception:
            raise FuzzFailure(target, data, traceback.format_exc(limit=-3)) from None
        if (took := time.process_time() - began) > SLOW:
            raise FuzzFailure(target, data, f"it takes {took:.1f} s")
        count += 1
    return count


def main(arguments: list[str]) -> int:
    """Run what was asked for; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Arbitrary input for every parser.")
    parser.add_argument("only", nargs="*", metavar="TARGET", help="some of them (default: all)")
    parser.add_argument("--seconds", type=float, default=60, help="of all together (default: 60)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    chosen = parser.parse_args(arguments)
    known = {target.name: target for target in TARGETS}
    if unknown := [name for name in chosen.only if name not in known]:
        parser.error(f"no target is called {unknown[0]}: there are {', '.join(known)}")
    print(f"seed {chosen.seed}")
    targets = [known[name] for name in chosen.only] or [*TARGETS]
    for target in targets:
        try:
            count = run(target, chosen.seed, chosen.seconds / len(targets))
        except FuzzFailure as failure:
            place = ROOT / "build" / "fuzz" / target.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(failure.data)
            print(f"{failure}\nthe input is in build/fuzz/{target.name}")
            return 1
        print(f"  {target.name}: {count} inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
