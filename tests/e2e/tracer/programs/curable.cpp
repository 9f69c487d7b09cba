// A program with one problem that a cure is there for, and without it; it prints what it computed.
// curable PROBLEM WAY [ROUNDS]: WAY is how it finds the driver's functions, which is three ways in the wild.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    const int result = (call);                                             \
    if (result != 0) std::printf("%s: %d\n", #call, result), std::exit(1); \
  } while (false)

namespace {

std::string way;

// By the way that the command line says.
template <class Function>
Function* Of(Function* linked, const char* symbol, const char* name, int version) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = reinterpret_cast<void*>(linked);
  if (way == "dlsym") found = dlsym(library, symbol);
  if (way == "table") {
    using Get = int(const char*, void**, int, unsigned long, void*);
    auto* const get = reinterpret_cast<Get*>(dlsym(library, "cuGetProcAddress_v2"));
    if (get == nullptr) std::puts("no cuGetProcAddress_v2"), std::exit(1);
    CHECK(get(name, &found, version, 0, nullptr));
  }
  return reinterpret_cast<Function*>(found);
}
#define STRING2(x) #x
#define STRING(x) STRING2(x)
#define DRIVER(name, version) Of(&name, STRING(name), #name, version)

constexpr size_t kBytes = 8 << 20;

unsigned SumOf(const std::vector<unsigned char>& bytes) {
  unsigned sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 4096) sum = sum * 31 + bytes[i];
  return sum;
}

// Copies the same block in and out again.
void Pageable(int rounds) {
  const auto in = DRIVER(cuMemcpyHtoD, 3020);
  const auto out = DRIVER(cuMemcpyDtoHAsync, 3020);
  CUdeviceptr device;
  CHECK(cuMemAlloc(&device, kBytes));
  std::vector<unsigned char> from(kBytes), to(kBytes);
  for (int i = 0; i < rounds; ++i) {
    std::memset(from.data(), i, from.size());
    CHECK(in(device, from.data(), kBytes));
    CHECK(out(to.data(), device, kBytes, nullptr));
    std::printf("%u\n", SumOf(to));
  }
}

// A block of each round, which is copied once.
void Fresh(int rounds) {
  const auto in = DRIVER(cuMemcpyHtoD, 3020);
  CUdeviceptr device;
  CHECK(cuMemAlloc(&device, kBytes));
  for (int i = 0; i < rounds; ++i) {
    std::vector<unsigned char> from(kBytes, static_cast<unsigned char>(i));
    CHECK(in(device, from.data(), kBytes));
    std::printf("%u\n", SumOf(from));
  }
}

CUfunction AKernel() {
  CUmodule module;
  CUfunction kernel;
  CHECK(cuModuleLoadData(&module, "cubin"));
  CHECK(cuModuleGetFunction(&kernel, module, "step"));
  return kernel;
}

// Waits for everything, where one stream has work.
void Waits(int rounds) {
  const auto wait = DRIVER(cuCtxSynchronize, 2000);
  const CUfunction kernel = AKernel();
  CUstream streams[3];
  for (CUstream& stream : streams) CHECK(cuStreamCreate(&stream, 0));
  for (int i = 0; i < rounds; ++i) {
    CHECK(cuLaunchKernel(kernel, 100, 1, 1, 32, 1, 1, 0, streams[i % 3], nullptr, nullptr));
    CHECK(wait());
    for (CUstream stream : streams) CHECK(cuStreamQuery(stream));
  }
}

// Every stream has work, so each of them is to be waited for.
void BusyStreams(int rounds) {
  const auto wait = DRIVER(cuCtxSynchronize, 2000);
  const CUfunction kernel = AKernel();
  CUstream streams[3];
  for (CUstream& stream : streams) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < rounds; ++i) {
    for (CUstream stream : streams) {
      CHECK(cuLaunchKernel(kernel, 20000, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
    }
    CHECK(wait());
    for (CUstream stream : streams) CHECK(cuStreamQuery(stream));
  }
}

void Churn(int rounds) {
  const auto allocate = DRIVER(cuMemAlloc, 3020);
  const auto release = DRIVER(cuMemFree, 3020);
  const CUfunction kernel = AKernel();
  for (int i = 0; i < rounds; ++i) {
    CUdeviceptr a, b;
    CHECK(allocate(&a, kBytes));
    CHECK(allocate(&b, kBytes / 2));
    CHECK(cuLaunchKernel(kernel, 100, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
    CHECK(release(a));
    CHECK(cuStreamQuery(nullptr));  // what frees memory has waited
    CHECK(release(b));
  }
  size_t free_bytes = 0, bytes = 0;
  CHECK(cuMemGetInfo(&free_bytes, &bytes));
}

void Managed(int rounds) {
  const auto allocate = DRIVER(cuMemAllocManaged, 6000);
  const auto launch = DRIVER(cuLaunchKernel, 4000);
  const CUfunction kernel = AKernel();
  CUdeviceptr managed, device;
  CHECK(allocate(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemAlloc(&device, kBytes));
  for (int i = 0; i < rounds; ++i) {
    CHECK(launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
    CHECK(cuMemsetD8(managed, static_cast<unsigned char>(i), kBytes));
    CHECK(cuStreamSynchronize(nullptr));
    CHECK(cuMemcpyHtoD(device, reinterpret_cast<void*>(managed), kBytes));  // the host has it again
    std::printf("%d\n", reinterpret_cast<unsigned char*>(managed)[kBytes - 1]);
  }
}

// Whether the driver takes the memory for pinned. A block that a cure has pinned is not, to the program.
bool IsPinned(uintptr_t address) {
  unsigned type = 0;
  return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == 0;
}
uintptr_t AddressOf(const void* block) { return reinterpret_cast<uintptr_t>(block); }

void CopyUntilPinned(void* block, CUdeviceptr device, size_t bytes) {
  for (int i = 0; i < 6; ++i) CHECK(cuMemcpyHtoD(device, block, bytes));
}

// What programs do with memory while it is copied: it is never pinned when it is none of theirs any more.
void Lives(int) {
  CUdeviceptr device;
  CHECK(cuMemAlloc(&device, 2 * kBytes));
  void* block = std::malloc(kBytes);
  const uintptr_t freed = AddressOf(block);
  CopyUntilPinned(block, device, kBytes);
  std::free(block);
  std::printf("freed: %d\n", IsPinned(freed));

  block = std::malloc(kBytes);
  std::memset(block, 7, kBytes);
  CopyUntilPinned(block, device, kBytes);
  void* const moved = std::realloc(block, 2 * kBytes);
  std::printf("moved: %d %d\n", IsPinned(AddressOf(moved)), static_cast<unsigned char*>(moved)[kBytes - 1]);
  CopyUntilPinned(moved, device, 2 * kBytes);
  CHECK(cuMemHostRegister(moved, 2 * kBytes, 0));  // which a pinned block would refuse
  CHECK(cuMemHostUnregister(moved));

  // Neighbours in the heap share pages; each copy is of one of them.
  std::vector<void*> small;
  for (int i = 0; i < 50; ++i) small.push_back(std::calloc(1, 70000 + 1000 * static_cast<size_t>(i)));
  for (int round = 0; round < 6; ++round) {
    for (void* one : small) CHECK(cuMemcpyHtoD(device, one, 70000));
  }
  for (void* one : small) std::free(one);

  void* pages = nullptr;
  CHECK(posix_memalign(&pages, 64, kBytes + 5));
  CopyUntilPinned(pages, device, kBytes + 5);
  std::fflush(stdout);
  if (fork() == 0) {
    std::free(pages);
    _exit(5);
  }
  int status = 0;
  wait(&status);
  std::printf("child: %d\n", WEXITSTATUS(status));
  const uintptr_t freed_by_another = AddressOf(pages);
  std::thread([&] { std::free(pages); }).join();  // a thread without a context
  std::printf("freed by another: %d\n", IsPinned(freed_by_another));
  std::vector<std::thread> threads;
  CUcontext context;
  CHECK(cuCtxGetCurrent(&context));
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([=] {
      CHECK(cuCtxSetCurrent(context));
      for (int i = 0; i < 20; ++i) {
        std::vector<char> mine(100'000 + 1000 * static_cast<size_t>(i));
        CopyUntilPinned(mine.data(), device, mine.size());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  static std::vector<char> until_the_end(kBytes);
  CopyUntilPinned(until_the_end.data(), device, kBytes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string problem = argc > 1 ? argv[1] : "";
  way = argc > 2 ? argv[2] : "linked";
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 40;
  CHECK(cuInit(0));
  CUcontext context;
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
  if (problem == "pageable") Pageable(rounds);
  if (problem == "fresh") Fresh(rounds);
  if (problem == "waits") Waits(rounds);
  if (problem == "busy_streams") BusyStreams(rounds);
  if (problem == "churn") Churn(rounds);
  if (problem == "managed") Managed(rounds);
  if (problem == "lives") Lives(rounds);
  std::puts("done");
  return 0;
}
