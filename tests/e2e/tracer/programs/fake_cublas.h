/* What libcublas and libcublasLt declare of what the test calls, with their own names for types written out. */
#ifndef FAKE_CUBLAS_H
#define FAKE_CUBLAS_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each multiplication calls it once, whoever it is. */
void FakeCublasLaunchesWith(void (*launch)(void));

int cublasGetMathMode(void* handle, int* mode);
int cublasSgemm_v2(void* handle, int transa, int transb, int m, int n, int k, const float* alpha, const float* a,
                   int lda, const float* b, int ldb, const float* beta, float* c, int ldc);
int cublasDgemmBatched(void* handle, int transa, int transb, int m, int n, int k, const double* alpha,
                       const double* const a[], int lda, const double* const b[], int ldb, const double* beta,
                       double* const c[], int ldc, int count);
int cublasSgemmStridedBatched(void* handle, int transa, int transb, int m, int n, int k, const float* alpha,
                              const float* a, int lda, long long stride_a, const float* b, int ldb, long long stride_b,
                              const float* beta, float* c, int ldc, long long stride_c, int count);
int cublasGemmEx(void* handle, int transa, int transb, int m, int n, int k, const void* alpha, const void* a,
                 int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                 int ldc, int compute_type, int algorithm);
int cublasGemmEx_64(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                    const void* a, int a_type, int64_t lda, const void* b, int b_type, int64_t ldb, const void* beta,
                    void* c, int c_type, int64_t ldc, int compute_type, int algorithm);
int cublasGemmStridedBatchedEx(void* handle, int transa, int transb, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int lda, long long stride_a, const void* b, int b_type,
                               int ldb, long long stride_b, const void* beta, void* c, int c_type, int ldc,
                               long long stride_c, int count, int compute_type, int algorithm);
int cublasXtSgemm(void* handle, int transa, int transb, size_t m, size_t n, size_t k, const float* alpha,
                  const float* a, size_t lda, const float* b, size_t ldb, const float* beta, float* c, size_t ldc);
int cublasSgemmGroupedBatched(void* handle, const int transa[], const int transb[], const int m[], const int n[],
                              const int k[], const float alpha[], const float* const a[], const int lda[],
                              const float* const b[], const int ldb[], const float beta[], float* const c[],
                              const int ldc[], int groups, const int sizes[]);

struct FakeLayout {
  uint32_t type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch;
};
struct FakeMatmul {
  int32_t compute_type, transa, transb;
};
int cublasLtMatrixLayoutGetAttribute(const struct FakeLayout* layout, int attribute, void* value, size_t size,
                                     size_t* written);
int cublasLtMatmulDescGetAttribute(const struct FakeMatmul* matmul, int attribute, void* value, size_t size,
                                   size_t* written);
int cublasLtMatmul(void* handle, const struct FakeMatmul* matmul, const void* alpha, const void* a,
                   const struct FakeLayout* a_layout, const void* b, const struct FakeLayout* b_layout,
                   const void* beta, const void* c, const struct FakeLayout* c_layout, void* d,
                   const struct FakeLayout* d_layout, const void* algorithm, void* workspace, size_t workspace_bytes,
                   void* stream);

#ifdef __cplusplus
}
#endif
#endif
