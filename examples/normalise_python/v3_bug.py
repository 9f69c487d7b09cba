"""Third version with a bug that is easy to write in Python: a list that holds one stream N times."""

import sys

from normalise import parse_options, run_in_streams
from numba import cuda


def main():
    options = parse_options()
    streams = [cuda.stream()] * options.s  # the bug: makes one stream and repeats it
    return run_in_streams(options, streams)


sys.exit(main())
