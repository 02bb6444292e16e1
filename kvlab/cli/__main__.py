"""`python -m kvlab.cli` is `kvlab`."""

from __future__ import annotations

import sys

from kvlab.cli.main import main

sys.exit(main())
