"""`python -m cachelayer`."""

from .cli import main

raise SystemExit(main())
