"""`python -m ggp.engines`: the same as `ggp engine`."""

import sys

from ggp.engines.command import main
from ggp.protocol.standard_streams import run_program

if __name__ == "__main__":
    sys.exit(run_program("ggp engine", lambda: main(sys.argv[1:])))
