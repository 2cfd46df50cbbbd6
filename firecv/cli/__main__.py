"""`python -m firecv.cli` is `firecv`."""

import sys

from firecv.cli import main

sys.exit(main())
