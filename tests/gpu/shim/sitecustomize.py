"""numba of some versions calls numpy.row_stack, which numpy 2.x no longer has."""

try:
    import numpy

    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack
except ImportError:
    pass
