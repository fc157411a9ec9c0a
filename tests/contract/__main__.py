"""`python -m tests.contract` checks the contract; with `--write`, `kept/` follows the code."""

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m tests.contract", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite what is kept")
    if parser.parse_args().write:
        os.environ["ASSAY_WRITE_CONTRACT"] = "1"
    # What is slow as well; in one process, because several tests write.
    folder = str(Path(__file__).parent)
    sys.exit(pytest.main(["-n", "0", "-m", "not e2e and not services", folder]))
