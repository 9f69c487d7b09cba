/* Constructs of OpenACC, which run on the host where there is no device, and what they compute. */
#include <stdio.h>

static int a[1000];

int main(void) {
  int sum = 0;
#pragma acc data copy(a)
  {
#pragma acc parallel loop
    for (int i = 0; i < 1000; ++i) a[i] = i;
#pragma acc kernels
    for (int i = 0; i < 1000; ++i) a[i] *= 2;
#pragma acc parallel loop reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += a[i];
  }
#pragma acc wait
  printf("{\"fact\":\"me\",\"sum\":%d}\n", sum);
  return 0;
}
