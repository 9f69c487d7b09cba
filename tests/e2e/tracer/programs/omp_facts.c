/* Parallel regions of OpenMP whose threads wait for one of them, and what the program knows of it. */
#include <omp.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void Uneven(void) {
  const long long before = Now();
#pragma omp parallel num_threads(3)
  {
    if (omp_get_thread_num() == 0) usleep(30000);
#pragma omp barrier
    if (omp_get_thread_num() == 1) usleep(20000);
  }
  printf("{\"fact\":\"region\",\"tid\":%ld,\"threads\":3,\"before\":%lld,\"after\":%lld}\n", syscall(SYS_gettid),
         before, Now());
}

int main(void) {
  int sum = 0;
  Uneven();
  Uneven();
#pragma omp parallel for num_threads(2) reduction(+ : sum)
  for (int i = 0; i < 100; ++i) sum += i;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    usleep(1000);
#pragma omp taskwait
  }
  printf("{\"fact\":\"me\",\"sum\":%d}\n", sum);
  return 0;
}
