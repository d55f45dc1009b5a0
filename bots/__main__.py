"""`python -m ggp.bots NAME [name=value …]`: the same as `ggp bot NAME [name=value …]`."""

import sys

from ggp.bots.command import main
from ggp.protocol.standard_streams import run_program

sys.exit(run_program("ggp bot", lambda: main(sys.argv[1:])))
