"""Third version: every chunk has a stream of its own, so copies and kernels of different chunks overlap."""

import sys

from normalise import parse_options, run_in_streams
from numba import cuda


def main():
    options = parse_options()
    streams = [cuda.stream() for _ in range(options.s)]
    return run_in_streams(options, streams)


sys.exit(main())
