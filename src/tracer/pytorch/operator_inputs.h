// The inputs of an operator as bytes of its row. [the thread that runs the operator, before it does]
#pragma once

#include <cstdint>

#include "tracer/pytorch/operator_row.h"
#include "tracer/pytorch/torch_layout.h"

namespace gprof::tracer {

// `has_values`: numbers are told, too. Answers how many bytes there are, kMostInputBytes at most.
uint32_t PutInputs(const TorchLayout& layout, const char* undefined_tensor, const TorchValue* inputs, uint64_t count,
                   bool has_values, unsigned char* out);

}  // namespace gprof::tracer
