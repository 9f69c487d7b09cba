// Which CPU samples stand for time of a processor.
#pragma once

#include <vector>

#include "gprof/trace.h"

namespace gprof {

// Samples of threads that waited do not. Where a thread has samples of the kernel and of Python, because both were
// asked for, those of the kernel do.
class RunningSamples {
 public:
  explicit RunningSamples(const Trace& trace);

  bool Has(const CpuSample& sample) const {
    if (sample.sample_kind == trace::SampleKind::kPythonWaiting) return false;
    return sample.sample_kind != trace::SampleKind::kPython || sample.thread == kNone || !has_others_[sample.thread];
  }

 private:
  std::vector<bool> has_others_;  // by thread
};

inline bool IsOfPython(const CpuSample& sample) {
  return sample.sample_kind == trace::SampleKind::kPython || sample.sample_kind == trace::SampleKind::kPythonWaiting;
}

}  // namespace gprof
