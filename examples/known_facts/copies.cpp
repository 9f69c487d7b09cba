// Copies between every pair of memory kinds, and memsets.
#include <vector>

#include "known_facts/known_facts.h"
#include "static_table.h"

namespace gprof::examples {
namespace {

constexpr std::size_t kSmall = 4096, kLarge = std::size_t{1} << 20;

class Buffers {
 public:
  explicit Buffers(Facts& facts) : facts_(facts), pageable(kLarge) {
    COUNTED_CALL(facts_, cudaMalloc, &device, kLarge);
    COUNTED_CALL(facts_, cudaMalloc, &other_device, kLarge);
    COUNTED_CALL(facts_, cudaMallocHost, &pinned, kLarge);
  }
  ~Buffers() {
    COUNTED_CALL(facts_, cudaFree, device);
    COUNTED_CALL(facts_, cudaFree, other_device);
    COUNTED_CALL(facts_, cudaFreeHost, pinned);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

 private:
  Facts& facts_;

 public:
  std::vector<unsigned char> pageable;
  void* pinned = nullptr;
  void* device = nullptr;
  void* other_device = nullptr;
};

void Copy(Facts& facts, const char* item, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  COUNTED_CALL(facts, cudaMemcpy, to, from, bytes, kind);
  CountCopy(facts, std::string(item) + "/sync", bytes);
}

void CopyAsync(Facts& facts, const char* item, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
               cudaStream_t stream) {
  COUNTED_CALL(facts, cudaMemcpyAsync, to, from, bytes, kind, stream);
  CountCopy(facts, std::string(item) + "/async", bytes);
}

void SynchroniseStream(Facts& facts, cudaStream_t stream) {
  COUNTED_CALL(facts, cudaStreamSynchronize, stream);
  facts.AddCount("syncs", "stream");
}

void CountMemset(Facts& facts, const char* item, std::size_t bytes) {
  facts.AddCount("memset", item);
  facts.Add("memset", item, "bytes", static_cast<std::int64_t>(bytes));
}

}  // namespace

void CopyHostAndDevice(Facts& facts, const NamedStreams& streams) {
  Buffers b(facts);
  const cudaStream_t stream = streams.non_blocking;
  for (const std::size_t bytes : {kSmall, kLarge}) {
    Copy(facts, "h2d/pageable/device", b.device, b.pageable.data(), bytes, cudaMemcpyHostToDevice);
    Copy(facts, "d2h/device/pageable", b.pageable.data(), b.device, bytes, cudaMemcpyDeviceToHost);
    Copy(facts, "h2d/pinned/device", b.device, b.pinned, bytes, cudaMemcpyHostToDevice);
    Copy(facts, "d2h/device/pinned", b.pinned, b.device, bytes, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 3; ++i) {
      CopyAsync(facts, "h2d/pinned/device", b.device, b.pinned, bytes, cudaMemcpyHostToDevice, stream);
      CopyAsync(facts, "d2h/device/pinned", b.pinned, b.device, bytes, cudaMemcpyDeviceToHost, stream);
    }
    CopyAsync(facts, "h2d/pageable/device", b.device, b.pageable.data(), bytes, cudaMemcpyHostToDevice, stream);
    CopyAsync(facts, "d2h/device/pageable", b.pageable.data(), b.device, bytes, cudaMemcpyDeviceToHost, stream);
    SynchroniseStream(facts, stream);
  }
  // Rows with a gap between them: the bytes of the rows count.
  constexpr std::size_t kPitch = 512, kWidth = 200, kRows = 16;
  COUNTED_CALL(facts, cudaMemcpy2DAsync, b.device, kPitch, b.pinned, kPitch, kWidth, kRows, cudaMemcpyHostToDevice,
               stream);
  CountCopy(facts, "h2d/pinned/device/async", kWidth * kRows);
  SynchroniseStream(facts, stream);
}

void CopyWithinDevice(Facts& facts, const NamedStreams& streams) {
  Buffers b(facts);
  const cudaStream_t stream = streams.non_blocking;
  for (int i = 0; i < 5; ++i) {
    CopyAsync(facts, "d2d/device/device", b.other_device, b.device, kLarge, cudaMemcpyDeviceToDevice, stream);
  }
  SynchroniseStream(facts, stream);
  float* table = nullptr;
  Check(kernels::StaticTableAddress(&table));
  facts.AddCount("api", "cudaGetSymbolAddress");
  const std::size_t bytes = kernels::kStaticTableCount * sizeof(float);
  // To CUPTI a __device__ variable is device memory when it is copied by its address.
  CopyAsync(facts, "h2d/pinned/device", table, b.pinned, bytes, cudaMemcpyHostToDevice, stream);
  CopyAsync(facts, "d2h/device/pinned", b.pinned, table, bytes, cudaMemcpyDeviceToHost, stream);
  CountLaunch(facts, kernels::StaticTableSum(stream, static_cast<float*>(b.device)), "StaticTableKernel", kNonBlocking);
  SynchroniseStream(facts, stream);
}

void CopyArrays(Facts& facts) {
  constexpr std::size_t kWidth = 64, kHeight = 32, kRowBytes = kWidth * sizeof(float), kBytes = kRowBytes * kHeight;
  Buffers b(facts);
  const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t one = nullptr, two = nullptr;
  COUNTED_CALL(facts, cudaMallocArray, &one, &format, kWidth, kHeight, 0);
  COUNTED_CALL(facts, cudaMallocArray, &two, &format, kWidth, kHeight, 0);
  COUNTED_CALL(facts, cudaMemcpy2DToArray, one, 0, 0, b.pinned, kRowBytes, kRowBytes, kHeight, cudaMemcpyHostToDevice);
  CountCopy(facts, "h2a/pinned/array/sync", kBytes);
  COUNTED_CALL(facts, cudaMemcpy2DArrayToArray, two, 0, 0, one, 0, 0, kRowBytes, kHeight, cudaMemcpyDeviceToDevice);
  CountCopy(facts, "a2a/array/array/any", kBytes);
  COUNTED_CALL(facts, cudaMemcpy2DFromArray, b.pinned, kRowBytes, two, 0, 0, kRowBytes, kHeight,
               cudaMemcpyDeviceToHost);
  CountCopy(facts, "a2h/array/pinned/sync", kBytes);
  COUNTED_CALL(facts, cudaMemcpy2DToArray, one, 0, 0, b.device, kRowBytes, kRowBytes, kHeight,
               cudaMemcpyDeviceToDevice);
  CountCopy(facts, "d2a/device/array/any", kBytes);
  COUNTED_CALL(facts, cudaMemcpy2DFromArray, b.device, kRowBytes, two, 0, 0, kRowBytes, kHeight,
               cudaMemcpyDeviceToDevice);
  CountCopy(facts, "a2d/array/device/any", kBytes);
  COUNTED_CALL(facts, cudaFreeArray, one);
  COUNTED_CALL(facts, cudaFreeArray, two);
}

// The driver decides between which places managed memory is copied: only its being managed is known beforehand.
void CopyManaged(Facts& facts) {
  Buffers b(facts);
  void* managed = nullptr;
  COUNTED_CALL(facts, cudaMallocManaged, &managed, kLarge, cudaMemAttachGlobal);
  Copy(facts, "any/managed/device", b.device, managed, kSmall, cudaMemcpyDefault);
  Copy(facts, "any/device/managed", managed, b.device, kSmall, cudaMemcpyDefault);
  COUNTED_CALL(facts, cudaFree, managed);
}

void SetMemory(Facts& facts, const NamedStreams& streams) {
  Buffers b(facts);
  const cudaStream_t stream = streams.non_blocking;
  COUNTED_CALL(facts, cudaMemset, b.device, 7, kLarge);
  CountMemset(facts, "device/any", kLarge);
  for (int i = 0; i < 6; ++i) {
    COUNTED_CALL(facts, cudaMemsetAsync, b.device, i, kSmall, stream);
    CountMemset(facts, "device/async", kSmall);
  }
  COUNTED_CALL(facts, cudaMemset2DAsync, b.device, 512, 3, 200, 16, stream);
  CountMemset(facts, "device/async", 200 * 16);
  SynchroniseStream(facts, stream);
}

void AllocateInStream(Facts& facts, const NamedStreams& streams) {
  for (int i = 0; i < 3; ++i) {
    void* memory = nullptr;
    COUNTED_CALL(facts, cudaMallocAsync, &memory, kLarge, streams.non_blocking);
    COUNTED_CALL(facts, cudaFreeAsync, memory, streams.non_blocking);
  }
  SynchroniseStream(facts, streams.non_blocking);
}

}  // namespace gprof::examples
