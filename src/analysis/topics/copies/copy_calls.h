// What calls that made copies spent: on the copy itself, or waiting for work that was launched before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/facts/gaps/gap_list.h"
#include "gprof/analysis.h"
#include "gprof/trace.h"

namespace gprof {

struct CopyCallTime {
  int64_t call_ns = 0;     // from entry to return
  int64_t waiting_ns = 0;  // of it the GPU worked on something else, and the copy had not begun
  int64_t staging_ns = 0;  // of it the GPU had nothing to do, and the copy had not begun
  int64_t OwnNs() const { return call_ns - waiting_ns; }
};

// A blocking copy behind a long kernel returns when both are done. The kernel's time is not the copy's fault: no other
// kind of copy would make it shorter.
class CopyCalls {
 public:
  explicit CopyCalls(const AnalysisInput& input);

  // Of the outermost call that made the copy; nothing where it is not known. Quick for copies in order of time.
  CopyCallTime TimeOf(const GpuOp& copy);

 private:
  const AnalysisInput& input_;
  std::vector<std::optional<IdleWithin>> idle_;  // by device, made when it is asked for
};

}  // namespace gprof
