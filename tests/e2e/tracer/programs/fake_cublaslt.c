/* libcublasLt, as far as its callers can tell. */
#include <string.h>

#include "fake_cublas.h"

static void (*launch)(void);
void FakeCublasLtLaunchesWith(void (*launch_lt)(void)) { launch = launch_lt; }

static int Give(const void* from, size_t bytes, void* value, size_t size, size_t* written) {
  *written = bytes;
  if (size < bytes) return 7;
  memcpy(value, from, bytes);
  return 0;
}

int cublasLtMatrixLayoutGetAttribute(const struct FakeLayout* layout, int attribute, void* value, size_t size,
                                     size_t* written) {
  switch (attribute) {
    case 0:
      return Give(&layout->type, 4, value, size, written);
    case 2:
      return Give(&layout->rows, 8, value, size, written);
    case 3:
      return Give(&layout->columns, 8, value, size, written);
    case 4:
      return Give(&layout->ld, 8, value, size, written);
    case 5:
      return Give(&layout->batch, 4, value, size, written);
  }
  return 7;
}

int cublasLtMatmulDescGetAttribute(const struct FakeMatmul* matmul, int attribute, void* value, size_t size,
                                   size_t* written) {
  switch (attribute) {
    case 0:
      return Give(&matmul->compute_type, 4, value, size, written);
    case 3:
      return Give(&matmul->transa, 4, value, size, written);
    case 4:
      return Give(&matmul->transb, 4, value, size, written);
  }
  return 7;
}

int cublasLtMatmul(void* handle, const struct FakeMatmul* matmul, const void* alpha, const void* a,
                   const struct FakeLayout* a_layout, const void* b, const struct FakeLayout* b_layout,
                   const void* beta, const void* c, const struct FakeLayout* c_layout, void* d,
                   const struct FakeLayout* d_layout, const void* algorithm, void* workspace, size_t workspace_bytes,
                   void* stream) {
  launch();
  return 0;
}
