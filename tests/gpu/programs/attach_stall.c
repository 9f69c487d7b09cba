// Where the time of a late attach goes: a thread launches kernels all the time and waits for each, while another does
// what the tracer does when it is attached, one step after the other with pauses between. Says for each step how long
// it took and the longest turn of the launching thread in it and in the 50 ms behind it. No header and no library of
// CUDA is needed.
//   gpu_attach_stall LIBCUPTI [ATTRIBUTE=VALUE...]     attributes by their numbers (CUpti_ActivityAttribute), set
//   before anything is enabled
#define _GNU_SOURCE
#include <dlfcn.h>
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

enum { kPauseUs = 50000, kWarmUs = 1000000, kBufferBytes = 1 << 20 };

static int is_over;
static int64_t worst_ns;  // since it was taken last
static char** attributes;
static int attribute_count;
static const char* cupti_path;
static void* subscriber;
static long records;

static int64_t NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void* Symbol(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol) return symbol;
  fprintf(stderr, "no %s\n", name);
  exit(77);
}

static void Ignore(void* data, int domain, unsigned id, const void* info) {
  (void)data, (void)domain, (void)id, (void)info;
}
static void Request(uint8_t** buffer, size_t* size, size_t* most) {
  if (posix_memalign((void**)buffer, 8, kBufferBytes)) exit(3);
  *size = kBufferBytes;
  *most = 0;
}
static void Complete(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  __atomic_fetch_add(&records, (long)valid, __ATOMIC_RELAXED);
  free(buffer);
}

static int64_t step_begin_ns;
static void Begin(void) {
  __atomic_store_n(&worst_ns, 0, __ATOMIC_RELAXED);
  step_begin_ns = NowNs();
}
static void End(const char* name, int result) {
  const double took_ms = (NowNs() - step_begin_ns) / 1e6;
  usleep(kPauseUs);
  printf("{\"step\": \"%s\", \"result\": %d, \"took_ms\": %.3f, \"longest_turn_ms\": %.3f}\n", name, result, took_ms,
         __atomic_load_n(&worst_ns, __ATOMIC_RELAXED) / 1e6);
  fflush(stdout);
}

static void* Attach(void* unused) {
  usleep(kWarmUs);
  Begin();
  End("nothing", 0);
  Begin();
  void* const cupti = dlopen(cupti_path, RTLD_NOW);
  End("dlopen", cupti == NULL);
  if (!cupti) exit(77);
  int (*subscribe)(void**, void*, void*) = Symbol(cupti, "cuptiSubscribe");
  int (*set)(int, size_t*, void*) = Symbol(cupti, "cuptiActivitySetAttribute");
  int (*take)(void*, void*) = Symbol(cupti, "cuptiActivityRegisterCallbacks");
  int (*enable)(int) = Symbol(cupti, "cuptiActivityEnable");
  int (*listen)(unsigned, void*, int, unsigned) = Symbol(cupti, "cuptiEnableCallback");
  int (*flush)(unsigned) = Symbol(cupti, "cuptiActivityFlushAll");
  Begin();
  End("cuptiSubscribe", subscribe(&subscriber, Ignore, NULL));
  for (int i = 0; i < attribute_count; ++i) {
    size_t value = strtoull(strchr(attributes[i], '=') + 1, NULL, 10), size = sizeof value;
    Begin();
    End(attributes[i], set(atoi(attributes[i]), &size, &value));
  }
  Begin();
  End("cuptiActivityRegisterCallbacks", take(Request, Complete));
  const struct {
    int kind;
    const char* name;
  } kinds[] = {{8, "enable DEVICE"}, {9, "enable CONTEXT"},          {1, "enable MEMCPY"},
               {2, "enable MEMSET"}, {38, "enable SYNCHRONIZATION"}, {10, "enable CONCURRENT_KERNEL"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    Begin();
    End(kinds[i].name, enable(kinds[i].kind));
  }
  Begin();
  int result = 0;
  for (unsigned id = 1; id < 450; ++id) result |= listen(1, subscriber, 3, id) == 0 ? 0 : 1;
  End("450 cuptiEnableCallback", result);
  for (int i = 0; i < 3; ++i) {
    Begin();
    End("cuptiActivityFlushAll", flush(0));
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
  return unused;
}

#define CALL(name, ...)                                           \
  do {                                                            \
    int (*f)() = (int (*)())Symbol(cuda, name);                   \
    const int answer = f(__VA_ARGS__);                            \
    if (answer != 0) return printf("%s: %d\n", name, answer), 77; \
  } while (0)

int main(int argc, char** argv) {
  void* const cuda = dlopen("libcuda.so.1", RTLD_NOW);
  if (!cuda || argc < 2) return puts("needs a driver, and the path of libcupti"), 77;
  cupti_path = argv[1];
  attributes = argv + 2;
  attribute_count = argc - 2;
  int device;
  void *context, *module, *kernel;
  CALL("cuInit", 0);
  CALL("cuDeviceGet", &device, 0);
  CALL("cuDevicePrimaryCtxRetain", &context, device);
  CALL("cuCtxSetCurrent", context);
  CALL("cuModuleLoadData", &module, kCode);
  CALL("cuModuleGetFunction", &kernel, module, "spin");
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) =
      Symbol(cuda, "cuLaunchKernel");
  int (*wait)(void*) = Symbol(cuda, "cuStreamSynchronize");
  pthread_t other;
  if (pthread_create(&other, NULL, Attach, NULL)) return 2;
  while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
    unsigned count = 1000;
    void* arguments[] = {&count};
    const int64_t begin_ns = NowNs();
    if (launch(kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0) != 0 || wait(0) != 0) return 3;
    const int64_t took_ns = NowNs() - begin_ns;
    if (took_ns > __atomic_load_n(&worst_ns, __ATOMIC_RELAXED)) __atomic_store_n(&worst_ns, took_ns, __ATOMIC_RELAXED);
  }
  pthread_join(other, NULL);
  return 0;
}
