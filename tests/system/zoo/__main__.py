"""A bot of Yugo that plays legally and attacks once, in its opponent's turn.

    python -m tests.system.zoo NAME PREY      an attack's name, or "none"; PREY is JSON in base64

It plays the button while it is free, then passes, so its moves do not depend on the attack.
"""

import sys

from tests.system.zoo import ATTACKS
from tests.system.zoo.prey import Prey

COMMANDS = "genmove\nggp-new\nlist_commands\nname\nplay\nprotocol_version\nquit\nversion"


def main(name: str, described: str) -> None:
    """Answer commands until quit."""
    prey = Prey(described)
    attack = ATTACKS.get(name)
    answers = {"list_commands": COMMANDS, "protocol_version": "2", "name": attack.bot if attack else "attacker"}
    free, attacked = True, False
    for line in sys.stdin:
        words = line.split()
        number = words.pop(0) if words and words[0].isdigit() else ""
        text = {**answers, "version": "1"}.get(words[0], "")
        if words[0] == "ggp-new":
            free = True
        elif words[0] == "play" and words[2].lower() == "button":
            free = False
        elif words[0] == "genmove":
            text, free = "button" if free else "pass", False
            if attacked:
                prey.before_move()
        elif words[0] == "quit" and attack and attack.at_quit:
            attack.run(prey)
        sys.stdout.write(f"={number} {text}\n\n")
        sys.stdout.flush()
        if words[0] == "genmove" and attack and not attack.at_quit and not attacked:
            attacked = True
            attack.run(prey)
            prey.tell("done")
        if words[0] == "quit":
            return


if __name__ == "__main__":
    main(*sys.argv[1:3])
