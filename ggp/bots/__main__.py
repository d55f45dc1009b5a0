"""`python -m ggp.bots NAME [name=value …]` is `ggp bot NAME [name=value …]`."""

import sys

from ggp.bots.command import main

sys.exit(main(sys.argv[1:]))
