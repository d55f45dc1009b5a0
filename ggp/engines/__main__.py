"""`python -m ggp.engines`: the same as `ggp engine`."""

import sys

from ggp.engines.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
