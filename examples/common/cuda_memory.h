// Owners of memory and streams for the example programs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include "common/cuda_check.h"

namespace gprof::examples {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) {
    void* memory = nullptr;
    Check(cudaMalloc(&memory, count * sizeof(T)));
    data_ = static_cast<T*>(memory);
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

// Page-locked host memory: what the copy engines of a GPU read and write directly.
template <class T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t count) : count_(count) {
    void* memory = nullptr;
    Check(cudaMallocHost(&memory, count * sizeof(T)));
    data_ = static_cast<T*>(memory);
  }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  T* data() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

class Streams {
 public:
  explicit Streams(std::size_t count) : streams_(count) {
    for (cudaStream_t& stream : streams_) Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~Streams() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  cudaStream_t operator[](std::size_t i) const { return streams_[i]; }
  std::size_t size() const { return streams_.size(); }

 private:
  std::vector<cudaStream_t> streams_;
};

}  // namespace gprof::examples
