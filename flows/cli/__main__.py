"""``python -m flows.cli`` does what ``microrelease`` does."""

import sys

from flows.cli import main

sys.exit(main())
