// Where the facts about an operator lie in objects of libtorch. Nothing of that is part of an interface, so it is found
// out in each process, by operators whose inputs are known, before anything is read by it.
#pragma once

#include <cstdint>
#include <cstring>

namespace gprof::tracer {

// An input of an operator (c10::IValue).
struct TorchValue {
  uint64_t payload;
  uint32_t tag;
  uint32_t unused;
};

struct TorchLayout {
  uint16_t inputs = 0;    // in at::RecordFunction: address of the first and their number
  uint16_t sequence = 0;  // in it: number of the function in autograd, -1 for none
  uint16_t list = 0;      // in the object of a list: address of its first value and of the end
  uint16_t dims = 0;      // in c10::TensorImpl: how many there are, then up to five sizes, or the address of more
  uint16_t type = 0;      // in it: number of the type of its elements
  uint32_t tensor_tag = 0, list_tag = 0, int_tag = 0, bool_tag = 0;
};

template <class T>
T ReadTorch(const char* object, uint16_t offset) {
  T value;
  std::memcpy(&value, object + offset, sizeof value);
  return value;
}

struct TorchDims {
  const int64_t* sizes;
  uint64_t count;
};
inline TorchDims DimsOf(const TorchLayout& layout, const char* tensor) {
  constexpr uint64_t kMostWithin = 5;
  const auto count = ReadTorch<uint64_t>(tensor, layout.dims);
  const char* const sizes = tensor + layout.dims + sizeof(uint64_t);
  if (count <= kMostWithin) return {reinterpret_cast<const int64_t*>(sizes), count};
  return {ReadTorch<const int64_t*>(sizes, 0), count};
}

// Two tensors of which everything is known (src/launch/hooks): 3 by 5 of float, and 2 by 1 by 3 by 1 by 1 by 7 of
// int64.
struct KnownTensors {
  const char* small = nullptr;
  const char* deep = nullptr;
};

// False: it is nowhere, or may be in two places.
bool FindTensorLayout(const KnownTensors& known, TorchLayout* layout);
// From the call sum(small, [1, 0], True), before which autograd would have given out `sequence` next.
bool FindFunctionLayout(const char* function, const KnownTensors& known, int64_t sequence, TorchLayout* layout);
// Whether the call cat([small, small]) is read for what it is.
bool ReadsFunction(const char* function, const KnownTensors& known, int64_t sequence, const TorchLayout& layout);

}  // namespace gprof::tracer
