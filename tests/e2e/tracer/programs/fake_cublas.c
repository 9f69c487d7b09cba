/* libcublas, as far as its callers can tell: FP32 is TF32 for a handle that is not null, and what is strided goes
   through libcublasLt. */
#include "fake_cublas.h"

static void (*launch)(void);
void FakeCublasLtLaunchesWith(void (*launch_lt)(void));

void FakeCublasLaunchesWith(void (*launch_all)(void)) {
  launch = launch_all;
  FakeCublasLtLaunchesWith(launch_all);
}

static int Launch(void) {
  launch();
  return 0;
}

int cublasGetMathMode(void* handle, int* mode) {
  *mode = handle != 0 ? 3 : 0;
  return 0;
}

int cublasSgemm_v2(void* handle, int transa, int transb, int m, int n, int k, const float* alpha, const float* a,
                   int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
  return m == 0 ? 7 : Launch();
}

int cublasDgemmBatched(void* handle, int transa, int transb, int m, int n, int k, const double* alpha,
                       const double* const a[], int lda, const double* const b[], int ldb, const double* beta,
                       double* const c[], int ldc, int count) {
  return Launch();
}

int cublasSgemmStridedBatched(void* handle, int transa, int transb, int m, int n, int k, const float* alpha,
                              const float* a, int lda, long long stride_a, const float* b, int ldb, long long stride_b,
                              const float* beta, float* c, int ldc, long long stride_c, int count) {
  return Launch();
}

int cublasXtSgemm(void* handle, int transa, int transb, size_t m, size_t n, size_t k, const float* alpha,
                  const float* a, size_t lda, const float* b, size_t ldb, const float* beta, float* c, size_t ldc) {
  return Launch();
}

int cublasSgemmGroupedBatched(void* handle, const int transa[], const int transb[], const int m[], const int n[],
                              const int k[], const float alpha[], const float* const a[], const int lda[],
                              const float* const b[], const int ldb[], const float beta[], float* const c[],
                              const int ldc[], int groups, const int sizes[]) {
  return Launch();
}

int cublasGemmEx(void* handle, int transa, int transb, int m, int n, int k, const void* alpha, const void* a,
                 int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                 int ldc, int compute_type, int algorithm) {
  return Launch();
}

int cublasGemmEx_64(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                    const void* a, int a_type, int64_t lda, const void* b, int b_type, int64_t ldb, const void* beta,
                    void* c, int c_type, int64_t ldc, int compute_type, int algorithm) {
  return Launch();
}

int cublasGemmStridedBatchedEx(void* handle, int transa, int transb, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int lda, long long stride_a, const void* b, int b_type,
                               int ldb, long long stride_b, const void* beta, void* c, int c_type, int ldc,
                               long long stride_c, int count, int compute_type, int algorithm) {
  const struct FakeMatmul matmul = {compute_type, transa, transb};
  const struct FakeLayout a_layout = {a_type, m, k, lda, count}, b_layout = {b_type, k, n, ldb, count},
                          c_layout = {c_type, m, n, ldc, count};
  return cublasLtMatmul(handle, &matmul, alpha, a, &a_layout, b, &b_layout, beta, c, &c_layout, c, &c_layout, 0, 0, 0,
                        0);
}
