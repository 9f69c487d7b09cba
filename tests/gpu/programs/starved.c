// A GPU that waits for its loader, for one of three reasons: io, lock, decode. No header and no library of CUDA is
// needed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char kCode[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry spin(.param .u32 count)\n{\n .reg .pred %p;\n .reg .u32 %r<3>;\n ld.param.u32 %r1,[count];\n"
    " mov.u32 %r2,0;\nLOOP:\n add.u32 %r2,%r2,1;\n setp.lt.u32 %p,%r2,%r1;\n @%p bra LOOP;\n ret;\n}\n";

static uint64_t sum;
static int data_file;
static pthread_mutex_t batch_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_over, prepared;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}
__attribute__((noinline)) void DecodeImage(double seconds) {
  for (double end = Now() + seconds; Now() < end;)
    for (int i = 0; i < 2000; ++i) sum = sum * 6364136223846793005u + i;
}
// 100 pieces of 4,096 bytes, past the page cache.
__attribute__((noinline)) void ReadSamples(int step) {
  static char* piece;
  if (!piece && posix_memalign((void**)&piece, 4096, 4096)) exit(5);
  for (int i = 0; i < 100; ++i) {
    if (pread(data_file, piece, 4096, (off_t)((step * 7919 + i * 613) % 4096) * 16384) != 4096) exit(4);
    sum += piece[0];
  }
}
static void* Prefetch(void* unused) {
  pthread_setname_np(pthread_self(), "prefetcher");
  while (!is_over) {
    pthread_mutex_lock(&batch_lock);
    DecodeImage(0.008);
    ++prepared;
    pthread_mutex_unlock(&batch_lock);
    usleep(300);
  }
  return unused;
}
__attribute__((noinline)) void TakeBatch(int step) {
  for (int there = 0; there <= step;) {
    pthread_mutex_lock(&batch_lock);
    there = prepared;
    pthread_mutex_unlock(&batch_lock);
  }
}

#define CALL(name, ...)                        \
  do {                                         \
    int (*f)() = (int (*)())dlsym(cuda, name); \
    int result = f ? f(__VA_ARGS__) : 999;     \
    if (result != 0) {                         \
      printf("%s: %d\n", name, result);        \
      exit(2);                                 \
    }                                          \
  } while (0)

int main(int argc, char** argv) {
  const char* const why = argv[1];
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (!cuda) {
    printf("no libcuda\n");
    return 2;
  }
  int device;
  void *context, *module, *kernel;
  CALL("cuInit", 0);
  CALL("cuDeviceGet", &device, 0);
  CALL("cuDevicePrimaryCtxRetain", &context, device);
  CALL("cuCtxSetCurrent", context);
  CALL("cuModuleLoadData", &module, kCode);
  CALL("cuModuleGetFunction", &kernel, module, "spin");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) =
      dlsym(cuda, "cuLaunchKernel");
  data_file = open(argv[2], O_RDWR | O_CREAT, 0600);
  if (strcmp(why, "io") == 0) {
    char block[16384] = {1};
    for (int i = 0; i < 4096; ++i)
      if (write(data_file, block, sizeof block) != sizeof block) return 3;
    fsync(data_file);
    const int direct = open(argv[2], O_RDONLY | O_DIRECT);
    if (direct >= 0) data_file = direct;
    printf("direct %d\n", direct >= 0);
  }
  pthread_t prefetcher;
  if (strcmp(why, "lock") == 0) pthread_create(&prefetcher, 0, Prefetch, 0);
  usleep(100000);
  for (int i = 0; i < 150; ++i) {
    if (strcmp(why, "io") == 0) ReadSamples(i);
    if (strcmp(why, "lock") == 0) TakeBatch(i);
    if (strcmp(why, "decode") == 0) DecodeImage(0.008);
    unsigned count = 400000;
    void* arguments[] = {&count};
    if (launch(kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0) != 0) return 3;
    CALL("cuCtxSynchronize");
  }
  is_over = 1;
  if (strcmp(why, "lock") == 0) pthread_join(prefetcher, 0);
  printf("done %s\n", why);
  return 0;
}
