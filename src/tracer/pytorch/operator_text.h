// An operator as the name of its range: "aten::mm, sizes = [[64, 32], [32, 8]], types = [float, float]". [writer
// thread, or salvage]
#pragma once

#include <cstddef>

#include "tracer/pytorch/operator_row.h"

namespace gprof::tracer {

struct Bytes {
  const char* data;
  std::size_t size;
};

// Answers the length of what it wrote. Inputs may be anything, as in salvage.
std::size_t WriteOperatorText(Bytes name, Bytes inputs, char* out, std::size_t capacity);

}  // namespace gprof::tracer
