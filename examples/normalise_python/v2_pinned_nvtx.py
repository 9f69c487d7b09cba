"""Second version: pinned host memory, copies that do not block, NVTX ranges. Still one stream."""

import sys

import numpy as np
from normalise import annotate, cut_into_chunks, make_input, parse_options, verify
from numba import cuda


def main():
    options = parse_options()
    source = make_input(cuda.pinned_array(options.n, np.float32))
    target = cuda.pinned_array(options.n, np.float32)
    chunks = cut_into_chunks(options)
    stream = cuda.stream()
    for _ in range(options.r):
        with annotate("round"):
            for chunk in chunks:
                with annotate("chunk"):
                    with annotate("copy in"):
                        chunk.copy_in(source, stream)
                    with annotate("normalise"):
                        chunk.normalise(stream)
                    with annotate("copy out"):
                        chunk.copy_out(target, stream)
            stream.synchronize()
    return verify(options, source, target)


sys.exit(main())
