// What the four programs share: an array is cut into chunks, and every chunk is divided by its own sum.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "common/cuda_memory.h"

namespace gprof::examples {

struct NormaliseOptions {
  std::size_t count = 0;    // elements of the array
  std::size_t streams = 0;  // chunks, and streams in the programs that use some
  std::size_t rounds = 0;   // times that the whole array is done
};

// Reads -n, -s and -r.
NormaliseOptions ParseNormaliseOptions(int argc, char** argv, const char* program);

// A part of the array and the device memory that it is normalised in.
class Chunk {
 public:
  Chunk(std::size_t first, std::size_t count);
  std::size_t first() const { return first_; }
  std::size_t count() const { return count_; }
  std::size_t size_bytes() const { return count_ * sizeof(float); }
  float* device_values() const { return values_.data(); }

  // Three kernels: sums of blocks, their sum by a single thread, the division.
  void Normalise(cudaStream_t stream) const;

 private:
  std::size_t first_, count_;
  DeviceArray<float> values_;
  DeviceArray<float> partial_sums_;
  DeviceArray<float> sum_;
};

std::vector<std::unique_ptr<Chunk>> CutIntoChunks(const NormaliseOptions& options);

void FillInput(std::span<float> input);

// Compares with the CPU, says so on stdout, and returns the exit code of the program.
int Verify(const NormaliseOptions& options, std::span<const float> input, std::span<const float> output);

}  // namespace gprof::examples
