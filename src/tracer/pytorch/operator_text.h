// An operator as the name of its range: "aten::mm, sizes = [[64, 32], [32, 8]], types = [float, float]". [writer
// thread, or salvage]
#pragma once

#include <cstddef>
#include <cstdint>

#include "tracer/pytorch/operator_row.h"
#include "tracer/pytorch/torch_layout.h"

namespace gprof::tracer {

struct Bytes {
  const char* data;
  std::size_t size;
};

// Answers the length of what it wrote. Inputs may be anything, as in salvage.
std::size_t WriteOperatorText(Bytes name, Bytes inputs, char* out, std::size_t capacity);

// The inputs of an operator as bytes of its row. [the thread that runs the operator, before it does]

// `has_values`: numbers are told, too. Answers how many bytes there are, kMostInputBytes at most.
uint32_t PutInputs(const TorchLayout& layout, const char* undefined_tensor, const TorchValue* inputs, uint64_t count,
                   bool has_values, unsigned char* out);

}  // namespace gprof::tracer
