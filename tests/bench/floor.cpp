// The least that a tracer can cost with CUPTI's activity records: asks for them, counts them, drops them.
// CUDA_INJECTION64_PATH=libcupti_floor.so PROGRAM. FLOOR_KINDS chooses among k kernels, m copies and fills, r runtime
// API, d driver API, s synchronisation, g graphs as a whole, o overhead; "kmrsg" by default, what gprof-cli records
// too. FLOOR_CUPTI names the libcupti; the counts go to stderr at the end.
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace {

constexpr std::size_t kBufferBytes = 8u << 20;
constexpr std::size_t kAlignment = 8;

struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
};

Cupti cupti;
std::atomic<std::uint64_t> record_count{0}, buffer_count{0};
std::mutex free_mutex;
// Leaked on purpose: CUPTI may return buffers while the process is being torn down.
std::vector<std::uint8_t*>& free_buffers = *new std::vector<std::uint8_t*>;

void* OpenCupti() {
  const char* const named = std::getenv("FLOOR_CUPTI");
  if (named != nullptr) return dlopen(named, RTLD_NOW);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"}) {
    if (void* library = dlopen(name, RTLD_NOW)) return library;
  }
  return nullptr;
}

template <class Function>
bool Load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

void CUPTIAPI GiveBuffer(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* most_records) {
  const std::lock_guard<std::mutex> lock(free_mutex);
  if (free_buffers.empty()) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
    ++buffer_count;
  } else {
    *buffer = free_buffers.back();
    free_buffers.pop_back();
  }
  *size_bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI TakeBuffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  CUpti_Activity* record = nullptr;
  std::uint64_t count = 0;
  while (cupti.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) ++count;
  record_count += count;
  const std::lock_guard<std::mutex> lock(free_mutex);
  free_buffers.push_back(buffer);
}

void EnableKind(char letter) {
  const auto enable = [](CUpti_ActivityKind kind) {
    if (cupti.enable(kind) != CUPTI_SUCCESS) std::fprintf(stderr, "floor: cannot enable kind %d\n", kind);
  };
  switch (letter) {
    case 'k':
      return enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    case 'm':
      enable(CUPTI_ACTIVITY_KIND_MEMCPY);
      return enable(CUPTI_ACTIVITY_KIND_MEMSET);
    case 'r':
      return enable(CUPTI_ACTIVITY_KIND_RUNTIME);
    case 'd':
      return enable(CUPTI_ACTIVITY_KIND_DRIVER);
    case 's':
      return enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    case 'g':
      return enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    case 'o':
      return enable(CUPTI_ACTIVITY_KIND_OVERHEAD);
    default:
      std::fprintf(stderr, "floor: unknown kind '%c'\n", letter);
  }
}

void Finish() {
  cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::fprintf(stderr, "floor: %llu records in %llu buffers\n", static_cast<unsigned long long>(record_count.load()),
               static_cast<unsigned long long>(buffer_count.load()));
}

}  // namespace

// Called by the driver when the program initialises CUDA.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  void* const library = OpenCupti();
  if (library == nullptr || !Load(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) ||
      !Load(library, "cuptiActivityEnable", &cupti.enable) ||
      !Load(library, "cuptiActivityFlushAll", &cupti.flush_all) ||
      !Load(library, "cuptiActivityGetNextRecord", &cupti.next_record)) {
    std::fprintf(stderr, "floor: no usable libcupti: %s\n", dlerror());
    return 1;
  }
  if (cupti.register_callbacks(GiveBuffer, TakeBuffer) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "floor: libcupti refuses callbacks\n");
    return 1;
  }
  const char* const kinds = std::getenv("FLOOR_KINDS");
  for (const char* letter = kinds != nullptr ? kinds : "kmrsg"; *letter != 0; ++letter) EnableKind(*letter);
  std::atexit(Finish);
  return 1;  // 0 would make the driver unload this library while CUPTI still calls it
}
