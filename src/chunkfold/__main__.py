"""`python -m chunkfold` is the command."""

import sys

from chunkfold.cli import main

if __name__ == "__main__":
    sys.exit(main())
