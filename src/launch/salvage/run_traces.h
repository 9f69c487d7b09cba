// The traces that a run was told to record into, by the random number of their first chunks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trace/write/append.h"

namespace gprof {

class RunTraces {
 public:
  void Add(TraceFile trace) {
    if (trace.path.empty()) return;
    Remove(trace.run);
    traces_.push_back(std::move(trace));
  }
  void Remove(uint64_t run) {
    std::erase_if(traces_, [run](const TraceFile& trace) { return trace.run == run; });
  }
  // Null where there is none.
  const TraceFile* Find(uint64_t run) const {
    for (const TraceFile& trace : traces_) {
      if (trace.run == run) return &trace;
    }
    return nullptr;
  }
  const TraceFile* Last() const { return traces_.empty() ? nullptr : &traces_.back(); }

 private:
  std::vector<TraceFile> traces_;
};

}  // namespace gprof
