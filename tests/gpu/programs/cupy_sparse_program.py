"""Products with a sparse matrix by CuPy, which looks cuSPARSE's functions up itself: ROUNDS times; exits with 3."""

import sys

import cupy
import cupyx.cusparse
import cupyx.scipy.sparse

rounds = int(sys.argv[1])
matrix = 3 * cupyx.scipy.sparse.identity(512, dtype=cupy.float32, format="csr")
vector = cupy.ones(512, dtype=cupy.float32)
total = 0.0
for _ in range(rounds):
    total += float(cupyx.cusparse.spmv(matrix, vector)[0])
print(total / rounds)
sys.exit(3)
