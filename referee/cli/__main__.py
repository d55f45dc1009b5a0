"""`python -m ggp.referee.cli` is `ggp`."""

import sys

from ggp.referee.cli.main import main

sys.exit(main())
