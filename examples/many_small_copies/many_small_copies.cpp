// Sends a table to the GPU row by row: thousands of copies of a few hundred bytes, where one copy would do.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "common/arguments.h"
#include "common/cuda_memory.h"
#include "common/nvtx_range.h"

using namespace gprof::examples;

namespace {

void SendRows(cudaStream_t stream, unsigned char* device, unsigned char* host, std::size_t rows,
              std::size_t row_bytes) {
  const NvtxRange range("send rows");
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t at = row * row_bytes;
    Check(cudaMemcpyAsync(device + at, host + at, row_bytes, cudaMemcpyHostToDevice, stream));
  }
}

void SendTable(cudaStream_t stream, unsigned char* device, unsigned char* host, std::size_t size_bytes) {
  const NvtxRange range("send table");
  Check(cudaMemcpyAsync(device, host, size_bytes, cudaMemcpyHostToDevice, stream));
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "many_small_copies [-n ROWS] [-b BYTES_PER_ROW] [--batched]");
  const std::size_t rows = arguments.Number("-n", 4096);
  const std::size_t row_bytes = arguments.Number("-b", 256);
  const bool is_batched = arguments.Switch("--batched");
  arguments.Finish();
  const std::size_t size_bytes = rows * row_bytes;
  PinnedArray<unsigned char> table(size_bytes), result(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) table[i] = static_cast<unsigned char>(i * 31 + i / row_bytes);
  const DeviceArray<unsigned char> device(size_bytes);
  const Streams streams(1);
  if (is_batched) {
    SendTable(streams[0], device.data(), table.data(), size_bytes);
  } else {
    SendRows(streams[0], device.data(), table.data(), rows, row_bytes);
  }
  Check(cudaMemcpyAsync(result.data(), device.data(), size_bytes, cudaMemcpyDeviceToHost, streams[0]));
  Check(cudaStreamSynchronize(streams[0]));
  const bool correct = std::memcmp(table.data(), result.data(), size_bytes) == 0;
  std::printf("%zu rows of %zu bytes: %s\n", rows, row_bytes, correct ? "correct" : "wrong");
  return correct ? 0 : 1;
}
