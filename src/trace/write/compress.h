// A finished trace with the bodies of its chunks compressed. Each is compressed by itself, so that the trace stays what
// it was: chunks in the same order, any of which can be read without the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace gprof {

struct CompressOptions {
  std::size_t threads = 1;
  std::size_t batch_bytes = 16u << 20;  // of the trace at a time, which bounds the memory
  // After each batch: how much of the trace is done. What it throws ends the work.
  std::function<void(uint64_t)> progress = [](uint64_t) {};
};

struct CompressedTrace {
  uint64_t bytes = 0;
  uint64_t compressed_chunks = 0;
};

// Gives the compressed trace to `write`, piece by piece. A chunk that gets no smaller, is compressed already, is
// damaged or of an unknown kind stays as it is, and so do bytes between chunks: whoever reads the result counts what he
// would have counted in `bytes`.
CompressedTrace CompressTrace(std::string_view bytes, const CompressOptions& options,
                              const std::function<void(std::string_view)>& write);

}  // namespace gprof
