"""`python -m goexplore`."""

import sys

from goexplore.cli import main

sys.exit(main())
