// Calls of cuSPARSE and cuFFT whose arguments the library gives back as one number. Built by the test twice: as such a
// library (-DAS_LIBRARY), and as the program that uses it.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

typedef long W;  // an argument: a number or an address
// What each argument is worth depends on its place, so that none can be taken for another one.
static W Sum(int count, const W* words) {
  W sum = 0;
  for (int i = 0; i < count; ++i) sum = sum * 3 + words[i];
  return sum;
}

#ifdef AS_LIBRARY
int cusparseCreate(W* handle) { return (int)(*handle = 7) - 7; }
int cufftCreate(W* plan) { return (int)(*plan = 8) - 8; }
W cufftXtExec(W a, W b, W c, W d) { return Sum(4, (W[]){a, b, c, d}); }
W cufftExecR2C(W a, W b, W c) { return 1 + cufftXtExec(a, b, c, 0); }
W cusparseSpMM(W a, W b, W c, W d, W e, W f, W g, W h, W i, W j, W k) {
  errno = 5;
  return Sum(11, (W[]){a, b, c, d, e, f, g, h, i, j, k});
}
W cusparseSpSM_solve(W a, W b, W c, W d, W e, W f, W g, W h, W i, W j) {
  return Sum(10, (W[]){a, b, c, d, e, f, g, h, i, j});
}
W cusparseSbsrsm2_solve(W a, W b, W c, W d, W e, W f, W g, W h, W i, W j, W k, W l, W m, W n, W o, W p, W q, W r, W s,
                        W t) {
  return Sum(20, (W[]){a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t});
}
#else
int cusparseCreate(W*);
int cufftCreate(W*);
W cufftXtExec(W, W, W, W);
W cufftExecR2C(W, W, W);
W cusparseSpMM(W, W, W, W, W, W, W, W, W, W, W);
W cusparseSpSM_solve(W, W, W, W, W, W, W, W, W, W);
W cusparseSbsrsm2_solve(W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W);

int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);  // where recording starts
  if (driver != NULL) ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
  W handle = 0, plan = 0;
  if (cusparseCreate(&handle) != 0 || cufftCreate(&plan) != 0) return 1;
  const W product = cusparseSpMM(handle, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
  const int error = errno;
  const W solved = cusparseSpSM_solve(handle, 1, 2, 3, 4, 5, 6, 7, 8, 9);
  const W blocks = cusparseSbsrsm2_solve(handle, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
  printf("{\"fact\":\"sums\",\"values\":[%ld,%ld,%ld,%ld,%ld,%d]}\n", product, solved, blocks,
         cufftXtExec(plan, 1, 2, 3), cufftExecR2C(plan, 1, 2), error);
  const W expected[] = {handle, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  return product == Sum(11, expected) && solved == Sum(10, expected) && blocks == Sum(20, expected) ? 0 : 2;
}
#endif
