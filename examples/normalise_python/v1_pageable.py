"""First version: ordinary host memory, blocking copies, the default stream."""

import sys

import numpy as np
from normalise import cut_into_chunks, make_input, parse_options, verify


def main():
    options = parse_options()
    source = make_input(np.empty(options.n, np.float32))
    target = np.empty(options.n, np.float32)
    chunks = cut_into_chunks(options)
    for _ in range(options.r):
        for chunk in chunks:
            chunk.copy_in(source, 0)
            chunk.normalise(0)
            chunk.copy_out(target, 0)
    return verify(options, source, target)


sys.exit(main())
