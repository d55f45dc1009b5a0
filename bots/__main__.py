"""`python -m bots NAME [name=value …]` is `ggp bot NAME [name=value …]`."""

import sys

from bots.command import main

sys.exit(main(sys.argv[1:]))
